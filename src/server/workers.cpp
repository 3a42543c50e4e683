#include "server/workers.h"

#include <algorithm>
#include <exception>

#include "base/log.h"

namespace hearth {

Workers::Workers(int threads) {
  try {
    for (int i = 0; i < std::max(1, threads); ++i) threads_.emplace_back([this] { loop(); });
  } catch (...) {  // the system gives no more threads
    end();
    throw;
  }
}

Workers::~Workers() { end(); }

void Workers::end() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Workers::post(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  wake_.notify_one();
}

void Workers::loop() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wake_.wait(lock, [this] { return ending_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    std::function<void()> job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    try {
      job();
    } catch (const std::exception& e) {
      log_error("a worker's job failed: {}", e.what());
    }
    job = nullptr;  // what it holds goes before the lock is taken again
    lock.lock();
  }
}

}  // namespace hearth
