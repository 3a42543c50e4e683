#include "engine/engine.h"

#include "base/log.h"
#include "engine/testing/engine_rig.h"

namespace hearth {
namespace {

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

}  // namespace
}  // namespace hearth
