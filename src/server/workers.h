// workers.h — the threads on which heavy handlers run: JSON, templates, tokenising.
//
// Owns      the threads. Jobs run in the order they came, `threads` at a time; the destructor finishes what was accepted.
// Errors    what a job throws is logged and ends that job alone.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hearth {

class Workers {
 public:
  explicit Workers(int threads);
  ~Workers();
  void post(std::function<void()> job);

 private:
  void loop();
  void end();
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::function<void()>> jobs_;
  bool ending_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hearth
