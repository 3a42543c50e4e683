// progress.h — shows that a start is under way: a bar on a terminal, a few lines in a log.
//
// Owns      one thread while it lives; it prints to stderr.
// Threads   add() from any; the others from the one that made it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <string>
#include <thread>

namespace hearth {

class Progress {
 public:
  // quiet: nothing in a log, and the bar disappears at the end.
  explicit Progress(bool quiet = false);
  ~Progress();  // an unfinished stage gets no closing line
  Progress(const Progress&) = delete;

  void stage(std::string what, std::int64_t total_bytes);  // closes the one before
  void add(std::int64_t bytes);
  void finish();  // closes the last stage

 private:
  void loop();
  void draw();  // the bar, or a line when one is due
  void close_stage();

  const bool quiet_, terminal_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable wake_;
  bool stop_ = false;
  std::string what_;  // empty: no stage
  std::int64_t total_ = 0, done_ = 0;
  double began_ = 0;      // of the stage, seconds
  double last_line_ = 0;  // in the log
  std::int64_t next_percent_ = 0;
  std::thread thread_;
};

}  // namespace hearth
