// The engine on a thread of its own.
#include <sys/resource.h>

#include <thread>

#include "engine/testing/engine_rig.h"

namespace hearth {
namespace {

struct Running {
  SteadyClock clock;
  std::unique_ptr<Engine> engine;
  explicit Running(double step_seconds) {
    HashRunnerConfig runner;
    runner.info = small_info();
    runner.sleep_seconds = step_seconds;
    engine = std::make_unique<Engine>(small_config(), std::make_unique<HashRunner>(runner), clock);
    engine->start();
  }
};

TEST(EngineThread, ManyThreadsSubmitAndAllAreAnswered) {
  Running r(0);
  std::vector<std::thread> threads;
  std::atomic<int> answered{0};
  for (int t = 0; t < 8; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) {
        auto sink = std::make_shared<Collect>();
        const std::string id = std::to_string(t) + "." + std::to_string(i);
        EXPECT_TRUE(r.engine->submit(ask(id, {t, i}, 5, sink)).ok());
        if (i % 5 == 0) r.engine->abort(id);
        if (i % 7 == 0) r.engine->stop_choice(id, 0);
        if (sink->wait()) ++answered;
      }
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(answered, 400);
  r.engine->stop();
  EXPECT_EQ(r.engine->stats().num_free_blocks, 16);
}

TEST(EngineThread, StopDrainsWhatWasAcceptedAndRefusesTheRest) {
  Running r(0.002);
  auto a = std::make_shared<Collect>();
  ASSERT_TRUE(r.engine->submit(ask("a", {1}, 20, a)).ok());
  r.engine->stop(30);
  EXPECT_TRUE(a->done);
  EXPECT_EQ(a->finish[0], FinishReason::length);
  EXPECT_EQ(r.engine->submit(ask("b", {1}, 1, a)).code, Code::unavailable);
}

TEST(EngineThread, StopWithoutDrainAborts) {
  Running r(0.01);
  auto a = std::make_shared<Collect>();
  ASSERT_TRUE(r.engine->submit(ask("a", {1}, 31, a)).ok());
  ASSERT_TRUE(a->wait_for_token());
  r.engine->stop();
  EXPECT_TRUE(a->done);
  EXPECT_EQ(a->finish[0], FinishReason::abort);
}

TEST(EngineThread, AnIdleEngineSleeps) {
  Running r(0);
  auto cpu_seconds = [] {
    rusage u{};
    getrusage(RUSAGE_SELF, &u);
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           1e-6 * static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
  };
  const double before = cpu_seconds();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const std::chrono::duration<double> slept = std::chrono::steady_clock::now() - begin;
  EXPECT_LT((cpu_seconds() - before) / slept.count(), 0.1);  // of one core; a loop without a wait takes a whole one
}

}  // namespace
}  // namespace hearth
