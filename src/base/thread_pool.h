// thread_pool.h — the threads that share the work of one operation.
//
// run(n, body) calls body(i, worker) once for each i in [0, n) and returns when all are done. The caller works too. Each
// thread starts with its own contiguous part of [0, n) and then takes single items from the parts of others, so a thread
// that is late, or never gets a core, costs at most the one item it holds. What an item computes must not depend on who
// computes it.
//
// Owns      size() - 1 threads.
// Threads   one caller of run() at a time, always outside a body.
// Waits     a thread without work spins for kSpin, then sleeps; so does the caller once all items are taken. An idle pool
//           uses no processor time.
// Limits    n < 2^31.
// Errors    StartupError when the system gives no more threads.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <thread>
#include <type_traits>
#include <vector>

namespace hearth {

class ThreadPool {
 public:
  explicit ThreadPool(int num_threads);  // at least 1: the caller
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int size() const { return size_; }

  template <class Body>
  void run(std::int64_t n, Body&& body) {
    using Plain = std::remove_reference_t<Body>;
    auto call = [](void* b, std::int64_t i, int worker) { (*static_cast<Plain*>(b))(i, worker); };
    if (n <= 1 || size_ == 1) {
      for (std::int64_t i = 0; i < n; ++i) body(i, 0);
      return;
    }
    run_shared(n, call, const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Call = void (*)(void* body, std::int64_t item, int worker);
  struct alignas(64) Part {
    std::atomic<std::uint64_t> next{0};  // round << 32 | next item of this part
  };

  void close();
  void run_shared(std::int64_t n, Call call, void* body);
  void work(std::uint32_t round, int worker);
  void loop(int worker);

  const int size_;
  std::unique_ptr<Part[]> parts_;
  std::vector<std::thread> threads_;

  // The job. Written between rounds; a late thread may read a mixture, but then its round is over and it can take no item.
  std::atomic<std::int64_t> num_items_{0};
  std::atomic<Call> call_{nullptr};
  std::atomic<void*> body_{nullptr};

  alignas(64) std::atomic<std::uint32_t> round_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  alignas(64) std::atomic<std::uint32_t> unfinished_{0};
  std::atomic<bool> caller_sleeps_{false};
};

// Threads to use when nobody says: the cores this process may run on.
int default_num_threads();

}  // namespace hearth
