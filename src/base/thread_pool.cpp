#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <system_error>

#include "base/check.h"
#include "base/status.h"

namespace hearth {
namespace {

// Longer than the gap between two operations of a step, shorter than anything a neighbour on the core would notice.
constexpr std::chrono::microseconds kSpin{40};

constexpr std::uint64_t kClosed = 0xffffffff;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// True as soon as done() is; false after kSpin.
template <class Done>
bool spin_until(Done done) {
  for (int i = 0; i < 64; ++i) {
    if (done()) return true;
    pause();
  }
  const auto end = std::chrono::steady_clock::now() + kSpin;
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      pause();
    }
  } while (std::chrono::steady_clock::now() < end);
  return done();
}

std::int64_t part_begin(std::int64_t n, int part, int parts) { return n * part / parts; }

}  // namespace

ThreadPool::ThreadPool(int num_threads)
    : size_(std::max(1, num_threads)), parts_(std::make_unique<Part[]>(static_cast<std::size_t>(size_))) {
  try {
    for (int i = 1; i < size_; ++i) threads_.emplace_back([this, i] { loop(i); });
  } catch (const std::system_error&) {
    close();
    throw StartupError("cannot start " + std::to_string(size_) + " threads: the system gives no more of them",
                       "--threads", "lower --threads, or allow more: ulimit -u");
  }
}

ThreadPool::~ThreadPool() { close(); }

void ThreadPool::close() {
  stop_.store(true);
  round_.fetch_add(1);
  round_.notify_all();
  for (auto& t : threads_) t.join();
}

void ThreadPool::run_shared(std::int64_t n, Call call, void* body) {
  HEARTH_CHECK_LT(n, std::int64_t{1} << 31);
  const std::uint32_t round = round_.load(std::memory_order_relaxed) + 1;
  // Closed before the job changes: a thread still in the last round reads the new job only after it can take nothing.
  for (int i = 0; i < size_; ++i)
    parts_[static_cast<std::size_t>(i)].next.store(std::uint64_t{round} << 32 | kClosed, std::memory_order_relaxed);
  num_items_.store(n, std::memory_order_release);
  call_.store(call, std::memory_order_release);
  body_.store(body, std::memory_order_release);
  unfinished_.store(static_cast<std::uint32_t>(n), std::memory_order_relaxed);
  for (int i = 0; i < size_; ++i)
    parts_[static_cast<std::size_t>(i)].next.store(
        std::uint64_t{round} << 32 | static_cast<std::uint64_t>(part_begin(n, i, size_)), std::memory_order_release);
  round_.store(round);  // seq_cst: against the sleeper's count, below
  if (sleepers_.load() > 0) round_.notify_all();

  work(round, 0);
  const auto done = [&] { return unfinished_.load(std::memory_order_acquire) == 0; };
  if (spin_until(done)) return;
  caller_sleeps_.store(true);
  for (std::uint32_t left; (left = unfinished_.load()) != 0;) unfinished_.wait(left);
  caller_sleeps_.store(false);
}

// Takes items until none of this round is left. The compare-and-swap names the round, so that a thread which slept through
// it cannot take an item of the next one with the job of the last.
void ThreadPool::work(std::uint32_t round, int worker) {
  const std::int64_t n = num_items_.load(std::memory_order_acquire);
  const Call call = call_.load(std::memory_order_acquire);
  void* const body = body_.load(std::memory_order_acquire);
  std::uint32_t finished = 0;
  for (int k = 0; k < size_; ++k) {
    const int p = (worker + k) % size_;
    auto& next = parts_[static_cast<std::size_t>(p)].next;
    const std::int64_t end = part_begin(n, p + 1, size_);
    std::uint64_t seen = next.load(std::memory_order_acquire);
    while (seen >> 32 == round && static_cast<std::int64_t>(seen & 0xffffffff) < end) {
      if (!next.compare_exchange_weak(seen, seen + 1, std::memory_order_acq_rel, std::memory_order_acquire)) continue;
      call(body, static_cast<std::int64_t>(seen & 0xffffffff), worker);
      ++finished;
      ++seen;
    }
  }
  if (finished == 0) return;
  if (unfinished_.fetch_sub(finished) == finished && caller_sleeps_.load()) unfinished_.notify_one();
}

void ThreadPool::loop(int worker) {
  std::uint32_t last = 0;
  while (true) {
    const auto changed = [&] { return round_.load(std::memory_order_acquire) != last; };
    if (!spin_until(changed)) {
      sleepers_.fetch_add(1);
      round_.wait(last);  // returns at once if the round has moved on
      sleepers_.fetch_sub(1);
    }
    const std::uint32_t round = round_.load(std::memory_order_acquire);
    if (stop_.load()) return;
    if (round == last) continue;
    last = round;
    work(round, worker);
  }
}

int default_num_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace hearth
