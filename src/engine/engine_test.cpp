#include "engine/engine.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "engine/engine_metrics.h"
#include "engine/testing/hash_runner.h"

namespace hearth {
namespace {

// Keeps what it is told; wait() blocks until on_done.
struct Collect final : OutputSink {
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<std::vector<std::int32_t>> tokens{16};
  std::vector<FinishReason> finish = std::vector<FinishReason>(16, FinishReason::none);
  Status error;
  RequestTimes times;
  int preemptions = 0;
  bool done = false;

  void on_output(ChoiceOutput out) override {
    std::lock_guard lock(mutex);
    const auto i = static_cast<std::size_t>(out.index);
    for (const TokenOutput& t : out.tokens) tokens[i].push_back(t.token);
    finish[i] = out.finish;
    if (!out.error.ok()) error = out.error;
    changed.notify_all();
  }
  void on_done(const RequestTimes& t, int, int p) override {
    std::lock_guard lock(mutex);
    times = t;
    preemptions = p;
    done = true;
    changed.notify_all();
  }
  bool wait(double seconds = 10) {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return done; });
  }
  bool wait_for_token() {
    std::unique_lock lock(mutex);
    return changed.wait_for(lock, std::chrono::seconds(10), [&] { return !tokens[0].empty(); });
  }
};

RunnerInfo small_info() {
  RunnerInfo info;
  info.vocab_size = 100;
  info.block_tokens = 4;
  info.num_blocks = 16;
  info.max_batch_tokens = 64;
  info.max_seqs = 8;
  return info;
}

EngineConfig small_config() {
  EngineConfig c;
  c.max_model_len = 32;
  c.max_num_seqs = 8;
  c.max_num_batched_tokens = 64;
  return c;
}

Request ask(const std::string& id, std::vector<std::int32_t> prompt, int max_tokens, std::shared_ptr<OutputSink> sink) {
  Request r;
  r.id = id;
  r.prompt = std::move(prompt);
  r.max_tokens = max_tokens;
  r.sampling.temperature = 0;
  r.sink = std::move(sink);
  return r;
}

struct Rig {
  FakeClock clock;
  std::vector<StepBatch> batches;
  std::unique_ptr<Engine> engine;

  explicit Rig(EngineConfig config = small_config(), RunnerInfo info = small_info(), std::int64_t throw_at = -1,
               EngineMetrics* metrics = nullptr) {
    HashRunnerConfig runner;
    runner.info = info;
    runner.clock = &clock;
    runner.step_seconds = 1;
    runner.throw_at_step = throw_at;
    runner.observe = [this](const StepBatch& b) { batches.push_back(b); };
    engine = std::make_unique<Engine>(config, std::make_unique<HashRunner>(runner), clock, metrics);
  }
  void run() {
    while (engine->step()) {
    }
  }
};

TEST(Engine, DecodesComeBeforePrefillsUnderTheTokenBudget) {
  EngineConfig c = small_config();
  c.max_num_batched_tokens = 8;
  Rig rig(c);
  auto a = std::make_shared<Collect>(), b = std::make_shared<Collect>();
  ASSERT_TRUE(rig.engine->submit(ask("a", {1, 2, 3}, 4, a)).ok());
  rig.engine->step();  // prefill of a
  ASSERT_TRUE(rig.engine->submit(ask("b", std::vector<std::int32_t>(10, 5), 2, b)).ok());
  rig.run();
  // a: 3 | then a decodes with 7 tokens of b | a decodes with b's last 3 | both decode
  ASSERT_EQ(rig.batches.size(), 4u);
  EXPECT_EQ(rig.batches[0].cu_seqlens_q, (std::vector<std::int32_t>{0, 3}));
  EXPECT_EQ(rig.batches[1].cu_seqlens_q, (std::vector<std::int32_t>{0, 1, 8}));
  EXPECT_EQ(rig.batches[1].samples.size(), 1u);  // b has no token yet
  EXPECT_EQ(rig.batches[2].cu_seqlens_q, (std::vector<std::int32_t>{0, 1, 4}));
  EXPECT_EQ(rig.batches[2].seq_lens, (std::vector<std::int32_t>{5, 10}));
  EXPECT_EQ(rig.batches[2].samples.size(), 2u);
  EXPECT_EQ(rig.batches[3].cu_seqlens_q, (std::vector<std::int32_t>{0, 1, 2}));
  EXPECT_EQ(a->tokens[0].size(), 4u);
  EXPECT_EQ(b->tokens[0].size(), 2u);
  EXPECT_EQ(a->finish[0], FinishReason::length);
  EXPECT_EQ(rig.engine->stats().num_steps, 4u);
  EXPECT_EQ(rig.engine->stats().num_prompt_tokens, 13u);
  EXPECT_EQ(rig.engine->stats().num_generation_tokens, 6u);
}

TEST(Engine, WithoutChunkedPrefillAPromptWaitsForAStepThatHoldsIt) {
  EngineConfig c = small_config();
  c.max_model_len = c.max_num_batched_tokens = 16;
  c.enable_chunked_prefill = false;
  Rig rig(c);
  auto a = std::make_shared<Collect>(), b = std::make_shared<Collect>();
  ASSERT_TRUE(rig.engine->submit(ask("a", std::vector<std::int32_t>(10, 1), 1, a)).ok());
  ASSERT_TRUE(rig.engine->submit(ask("b", std::vector<std::int32_t>(10, 2), 1, b)).ok());
  rig.run();
  ASSERT_EQ(rig.batches.size(), 2u);  // 10 and 10, not 16 and 4
  EXPECT_EQ(rig.batches[0].token_ids.size(), 10u);
}

TEST(Engine, ALongPromptTakesAtMostItsThreshold) {
  EngineConfig c = small_config();
  c.long_prefill_token_threshold = 6;
  Rig rig(c);
  auto a = std::make_shared<Collect>();
  ASSERT_TRUE(rig.engine->submit(ask("a", std::vector<std::int32_t>(14, 1), 1, a)).ok());
  rig.run();
  ASSERT_EQ(rig.batches.size(), 3u);  // 6, 6, 2
  EXPECT_EQ(rig.batches[2].token_ids.size(), 2u);
}

TEST(Engine, ThePriorityPolicyLetsABetterRequestTakeTheSeat) {
  EngineConfig c = small_config();
  c.policy = SchedulingPolicy::priority;
  c.max_num_seqs = 1;
  Rig rig(c);
  auto low = std::make_shared<Collect>(), high = std::make_shared<Collect>();
  Request l = ask("low", {1, 2}, 6, low), h = ask("high", {3, 4}, 2, high);
  l.priority = 5;
  h.priority = 1;
  ASSERT_TRUE(rig.engine->submit(l).ok());
  rig.engine->step();
  rig.engine->step();
  ASSERT_TRUE(rig.engine->submit(h).ok());
  rig.engine->step();
  EXPECT_EQ(high->tokens[0].size(), 1u);  // at once
  rig.run();
  EXPECT_EQ(low->preemptions, 1);
  EXPECT_LT(high->times.last_token, low->times.last_token);
  RunnerInfo info = small_info();
  const StraightLine line = straight_line(l, 0, info, 32);
  for (std::size_t i = 0; i < line.tokens.size(); ++i) EXPECT_EQ(low->tokens[0][i], line.tokens[i].token);
}

TEST(Engine, TheLastAdmittedIsPreemptedWhenBlocksRunOut) {
  RunnerInfo info = small_info();
  info.num_blocks = 6;
  EngineConfig c = small_config();
  c.max_model_len = 20;
  Rig rig(c, info);
  auto a = std::make_shared<Collect>(), b = std::make_shared<Collect>();
  ASSERT_TRUE(rig.engine->submit(ask("a", {1, 2, 3, 4}, 13, a)).ok());  // ends with 16 computed: 4 blocks
  ASSERT_TRUE(rig.engine->submit(ask("b", {5, 6, 7, 8}, 13, b)).ok());
  rig.run();
  EXPECT_EQ(a->preemptions, 0);
  EXPECT_GE(b->preemptions, 1);
  EXPECT_EQ(b->tokens[0].size(), 13u);
  EXPECT_EQ(rig.engine->stats().num_free_blocks, 6);
}

TEST(Engine, WhatCanNeverFitIsRefusedWithBothNumbers) {
  RunnerInfo info = small_info();
  info.num_blocks = 4;
  Rig rig(small_config(), info);
  auto sink = std::make_shared<Collect>();
  Status s = rig.engine->submit(ask("a", {1, 2, 3}, 20, sink));  // 22 tokens: 6 blocks
  EXPECT_EQ(s.code, Code::invalid_argument);
  EXPECT_NE(s.message.find("need 6 cache blocks of 4 tokens, and the cache has 4"), std::string::npos) << s.message;
  s = rig.engine->submit(ask("a", std::vector<std::int32_t>(32, 1), 1, sink));
  EXPECT_NE(s.message.find("32 tokens and max_model_len is 32"), std::string::npos) << s.message;
  EXPECT_EQ(rig.engine->submit(ask("a", {}, 1, sink)).param, "prompt");
  EXPECT_EQ(rig.engine->submit(ask("a", {100}, 1, sink)).code, Code::invalid_argument);
  EXPECT_EQ(rig.engine->submit(ask("a", {-1}, 1, sink)).code, Code::invalid_argument);
  EXPECT_FALSE(rig.engine->step());
}

TEST(Engine, TheQueueIsBounded) {
  EngineConfig c = small_config();
  c.max_queue = 3;
  Rig rig(c);
  auto sink = std::make_shared<Collect>();
  Request three = ask("a", {1}, 1, sink);
  three.n = 3;
  ASSERT_TRUE(rig.engine->submit(three).ok());
  const Status s = rig.engine->submit(ask("b", {1}, 1, sink));
  EXPECT_EQ(s.code, Code::resource_exhausted);
  EXPECT_NE(s.message.find("3 of at most 3"), std::string::npos) << s.message;
  EXPECT_EQ(rig.engine->stats().num_waiting, 3);
  EXPECT_EQ(rig.engine->submit(three).code, Code::resource_exhausted);
  rig.run();
  EXPECT_TRUE(rig.engine->submit(ask("a", {1}, 1, sink)).ok());  // the id is free again
  EXPECT_EQ(rig.engine->submit(ask("a", {1}, 1, sink)).param, "request_id");
}

TEST(Engine, APoisonedRowFailsItsRequestAndNoOther) {
  Rig rig;
  auto bad = std::make_shared<Collect>(), good = std::make_shared<Collect>();
  Request poisoned = ask("bad", {1, 2}, 4, bad);
  poisoned.sampling.debug_poison_nan = true;
  poisoned.n = 2;
  ASSERT_TRUE(rig.engine->submit(poisoned).ok());
  ASSERT_TRUE(rig.engine->submit(ask("good", {1, 2}, 4, good)).ok());
  rig.run();
  EXPECT_EQ(bad->finish[0], FinishReason::error);
  EXPECT_EQ(bad->finish[1], FinishReason::error);
  EXPECT_NE(bad->error.message.find("NaN"), std::string::npos);
  EXPECT_TRUE(bad->done);
  EXPECT_EQ(good->finish[0], FinishReason::length);
  EXPECT_EQ(good->tokens[0].size(), 4u);
}

// Fails the row of choice 0 and gives a token to every other: what a step does with rows of a request that it has just ended.
struct FailsChoiceZero final : Runner {
  RunnerInfo told = small_info();
  const RunnerInfo& info() const override { return told; }
  std::vector<SampledRow> step(const StepBatch& batch) override {
    std::vector<SampledRow> rows(batch.samples.size());
    for (SampledRow& row : rows) row.token.token = 7;
    rows.front().error = {Code::internal, "the first row is bad", {}};
    return rows;
  }
};

TEST(Engine, RowsOfARequestThatEndedInTheSameStepAreDropped) {
  FakeClock clock;
  Engine engine(small_config(), std::make_unique<FailsChoiceZero>(), clock);
  auto sink = std::make_shared<Collect>(), rows = std::make_shared<Collect>();
  Request two = ask("two", {1, 2}, 4, sink);
  two.n = 2;
  ASSERT_TRUE(engine.submit(two).ok());
  ASSERT_TRUE(engine.step());
  EXPECT_TRUE(sink->done);
  EXPECT_EQ(sink->finish[1], FinishReason::error);  // a token after the end would say none
  EXPECT_TRUE(sink->tokens[1].empty());
  EXPECT_EQ(sink->error.message, "the first row is bad");
  EXPECT_EQ(engine.stats().num_generation_tokens, 0u);
  EXPECT_EQ(engine.stats().num_free_blocks, 16);

  Request prompt_rows = ask("rows", {1, 2, 3, 4}, 4, rows);  // rows 1 … 3 follow the bad one
  prompt_rows.sampling.prompt_logprobs = 0;
  ASSERT_TRUE(engine.submit(prompt_rows).ok());
  ASSERT_TRUE(engine.step());
  EXPECT_TRUE(rows->done);
  EXPECT_EQ(rows->finish[0], FinishReason::error);
  EXPECT_TRUE(rows->tokens[0].empty());
  EXPECT_FALSE(engine.step());
}

TEST(Engine, ALostRunnerEndsEveryRequestWithAnError) {
  set_log_level(LogLevel::off);
  Rig rig(small_config(), small_info(), 2);
  auto a = std::make_shared<Collect>(), b = std::make_shared<Collect>();
  ASSERT_TRUE(rig.engine->submit(ask("a", {1, 2}, 9, a)).ok());
  rig.engine->step();
  ASSERT_TRUE(rig.engine->submit(ask("b", {1, 2}, 9, b)).ok());
  rig.run();
  set_log_level(LogLevel::info);
  EXPECT_EQ(a->tokens[0].size(), 2u);
  EXPECT_EQ(a->finish[0], FinishReason::error);
  EXPECT_EQ(b->finish[0], FinishReason::error);
  EXPECT_EQ(a->error.message, "the engine failed: the device is lost");
  EXPECT_FALSE(rig.engine->stats().alive);
  EXPECT_EQ(rig.engine->stats().num_free_blocks, 16);
  EXPECT_EQ(rig.engine->submit(ask("c", {1}, 1, a)).code, Code::unavailable);
}

TEST(Engine, MaxTokensZeroComputesThePromptOnly) {
  struct Rows final : OutputSink {
    std::vector<TokenOutput> rows;
    FinishReason finish = FinishReason::none;
    std::size_t tokens = 0;
    void on_prompt_logprobs(std::vector<TokenOutput> r) override { rows = std::move(r); }
    void on_output(ChoiceOutput out) override { finish = out.finish, tokens += out.tokens.size(); }
    void on_done(const RequestTimes&, int, int) override {}
  };
  Rig rig;
  auto sink = std::make_shared<Rows>();
  Request r = ask("a", {7, 8, 9}, 0, sink);
  r.sampling.prompt_logprobs = 1;
  ASSERT_TRUE(rig.engine->submit(r).ok());
  rig.run();
  EXPECT_EQ(sink->finish, FinishReason::length);
  EXPECT_EQ(sink->tokens, 0u);
  ASSERT_EQ(sink->rows.size(), 3u);
  EXPECT_TRUE(sink->rows[0].top.empty());
  EXPECT_EQ(sink->rows[0].token, 7);
  EXPECT_EQ(sink->rows[2].token, 9);
  EXPECT_EQ(sink->rows[2].top.size(), 1u);
}

TEST(Engine, MetricsTellTheTimes) {
  struct Last final : EngineMetrics {
    RequestStats request;
    int steps = 0;
    double itl = 0;
    void on_step(const StepStats& s) override {
      ++steps;
      for (const double d : s.inter_token_seconds) itl += d;
    }
    void on_request_done(const RequestStats& s) override { request = s; }
  } metrics;
  Rig rig(small_config(), small_info(), -1, &metrics);
  auto a = std::make_shared<Collect>();
  ASSERT_TRUE(rig.engine->submit(ask("a", {1, 2}, 3, a)).ok());
  rig.clock.advance(0.5);
  rig.run();  // three steps of 1 s
  EXPECT_EQ(metrics.steps, 3);
  EXPECT_DOUBLE_EQ(metrics.request.queue_seconds, 0.5);
  EXPECT_DOUBLE_EQ(metrics.request.prefill_seconds, 1.0);
  EXPECT_DOUBLE_EQ(metrics.request.ttft_seconds, 1.5);
  EXPECT_DOUBLE_EQ(metrics.request.decode_seconds, 2.0);
  EXPECT_DOUBLE_EQ(metrics.request.e2e_seconds, 3.5);
  EXPECT_DOUBLE_EQ(metrics.request.seconds_per_output_token(), 1.0);
  EXPECT_DOUBLE_EQ(metrics.itl, 2.0);
  EXPECT_EQ(metrics.request.choices[0].finish, FinishReason::length);
  EXPECT_DOUBLE_EQ(rig.engine->stats().busy_seconds, 3.0);
}

TEST(Engine, ConfigAndRunnerMustGoTogether) {
  EngineConfig c = small_config();
  c.max_num_batched_tokens = 7;
  EXPECT_THROW(Rig{c}, StartupError);
  c = small_config();
  c.max_model_len = 100;
  c.enable_chunked_prefill = false;
  EXPECT_THROW(Rig{c}, StartupError);
}

// ---- with its own thread --------------------------------------------------------------------------------------------------

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
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  EXPECT_LT(cpu_seconds() - before, 0.03);
}

}  // namespace
}  // namespace hearth
