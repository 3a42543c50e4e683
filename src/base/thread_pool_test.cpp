#include "base/thread_pool.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <numeric>
#include <vector>

namespace hearth {
namespace {

TEST(ThreadPool, EachItemIsDoneOnce) {
  for (int threads : {1, 2, 3, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.size(), threads);
    for (std::int64_t n : {0, 1, 2, 3, 7, 64, 1000}) {
      std::vector<std::atomic<int>> count(static_cast<std::size_t>(n));
      pool.run(n, [&](std::int64_t i, int worker) {
        ASSERT_GE(worker, 0);
        ASSERT_LT(worker, threads);
        ++count[static_cast<std::size_t>(i)];
      });
      for (auto& c : count) EXPECT_EQ(c.load(), 1);
    }
  }
}

// Rounds of different lengths close together: a thread that is still looking for items of the last round must not take one
// of the next.
TEST(ThreadPool, ManyShortRoundsOfDifferentLength) {
  ThreadPool pool(4);
  std::vector<std::int64_t> out(40);
  for (std::int64_t round = 0; round < 20000; ++round) {
    const std::int64_t n = 1 + round * 7 % 40;
    pool.run(n, [&, round](std::int64_t i, int) { out[static_cast<std::size_t>(i)] = round * 100 + i; });
    for (std::int64_t i = 0; i < n; ++i) ASSERT_EQ(out[static_cast<std::size_t>(i)], round * 100 + i);
  }
}

TEST(ThreadPool, SlowItemDoesNotHoldTheOthers) {
  ThreadPool pool(2);
  std::atomic<int> others{0};
  // Item 0 waits until all others are done: they can only be done by the other thread, its own part and the rest of the
  // slow thread's part.
  pool.run(10, [&](std::int64_t i, int) {
    if (i == 0)
      while (others.load() < 9) std::this_thread::yield();
    else
      ++others;
  });
  EXPECT_EQ(others.load(), 9);
}

double cpu_seconds() {
  rusage u{};
  getrusage(RUSAGE_SELF, &u);
  return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
         1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

TEST(ThreadPool, IdleThreadsSleep) {
  ThreadPool pool(4);
  pool.run(100, [](std::int64_t, int) {});
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  const double before = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::chrono::duration<double> slept = std::chrono::steady_clock::now() - begin;
  EXPECT_LT((cpu_seconds() - before) / slept.count(), 0.1);  // of one core; spinning workers take a whole one each
  std::atomic<int> done{0};
  pool.run(100, [&](std::int64_t, int) { ++done; });  // and wake again
  EXPECT_EQ(done.load(), 100);
}

}  // namespace
}  // namespace hearth
