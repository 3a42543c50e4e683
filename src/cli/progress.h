// progress.h — shows that a start is under way: a bar on a terminal, a line a second in a log. Never silent for longer.
//
// Owns      one thread while it lives; it prints to stderr.
// Threads   set() and add() from any.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace hearth {

class Progress {
 public:
  // quiet: nothing in a log, and the bar disappears at the end.
  Progress(std::string what, std::int64_t total_bytes, bool quiet = false);
  ~Progress();  // prints the closing line
  Progress(const Progress&) = delete;

  void add(std::int64_t bytes) { done_.fetch_add(bytes, std::memory_order_relaxed); }
  void stage(std::string what);  // what is being done now, when no bytes move

 private:
  void loop();
  void print(bool last);

  std::string what_;
  const std::int64_t total_;
  const bool quiet_, terminal_;
  std::atomic<std::int64_t> done_{0};
  double begin_ = 0;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace hearth
