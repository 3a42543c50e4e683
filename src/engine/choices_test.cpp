// Several choices of one request: their prompt is computed once.
#include "engine/testing/engine_rig.h"

namespace hearth {
namespace {

struct Counted final : EngineMetrics {
  int tokens = 0, prompt = 0, generation = 0;
  void on_step(const StepStats& s) override {
    tokens += s.num_tokens;
    prompt += s.num_prompt_tokens;
    generation += s.num_generation_tokens;
  }
  void on_request_done(const RequestStats&) override {}
};

TEST(Engine, ThreeChoicesComputeTheirPromptOnce) {
  for (const int slots : {0, 8}) {
    RunnerInfo info = small_info();
    info.num_state_slots = slots;
    Counted counted;
    Rig rig(small_config(), info, -1, &counted);
    auto sink = std::make_shared<Collect>();
    Request r = ask("a", {1, 2, 3, 4, 5, 6}, 4, sink);  // a whole block and half of one
    r.n = 3;
    r.sampling.temperature = 1;
    r.sampling.seed = 9;
    ASSERT_TRUE(rig.engine->submit(r).ok());
    rig.engine->step();
    EXPECT_EQ(rig.engine->stats().num_running, 3);
    EXPECT_EQ(rig.engine->stats().num_free_blocks, 16 - 4);  // one is shared, three are half full
    EXPECT_EQ(rig.engine->stats().num_free_state_slots, slots == 0 ? 0 : 5);
    ASSERT_EQ(rig.batches[0].samples.size(), 3u);
    for (const SampleRow& sample : rig.batches[0].samples) EXPECT_EQ(sample.row, 5);
    EXPECT_EQ(rig.batches[0].block_copies.size(), 2u);
    EXPECT_EQ(rig.batches[0].state_copies.size(), slots == 0 ? 0u : 2u);
    rig.run();
    EXPECT_EQ(counted.tokens, 6 + 3 * 3);  // the prompt, and of each choice every token but the last
    EXPECT_EQ(counted.prompt, 6);
    EXPECT_EQ(counted.generation, 12);
    EXPECT_EQ(rig.engine->stats().num_steps, 4u);
    for (int i = 0; i < 3; ++i) {
      const StraightLine line = straight_line(r, i, info, 32);
      ASSERT_EQ(sink->tokens[static_cast<std::size_t>(i)].size(), 4u);
      for (std::size_t t = 0; t < 4; ++t) EXPECT_EQ(sink->tokens[static_cast<std::size_t>(i)][t], line.tokens[t].token);
    }
    EXPECT_NE(sink->tokens[0], sink->tokens[1]);
  }
}

TEST(Engine, ChoicesWithoutASeatComputeThePromptAgainLater) {
  EngineConfig c = small_config();
  c.max_num_seqs = 2;
  Counted counted;
  Rig rig(c, small_info(), -1, &counted);
  auto sink = std::make_shared<Collect>();
  Request r = ask("a", {1, 2, 3, 4, 5, 6}, 4, sink);
  r.n = 4;
  ASSERT_TRUE(rig.engine->submit(r).ok());
  rig.run();
  EXPECT_EQ(counted.tokens, 2 * 6 + 4 * 3);
  EXPECT_EQ(counted.prompt, 6);
  for (std::size_t i = 1; i < 4; ++i) EXPECT_EQ(sink->tokens[i], sink->tokens[0]);
}

TEST(Engine, WhenTheChoiceThatComputesThePromptStopsAnotherGoesOn) {
  EngineConfig c = small_config();
  c.max_num_batched_tokens = 8;
  Counted counted;
  Rig rig(c, small_info(), -1, &counted);
  auto sink = std::make_shared<Collect>();
  Request r = ask("a", std::vector<std::int32_t>(18, 3), 4, sink);
  r.n = 3;
  ASSERT_TRUE(rig.engine->submit(r).ok());
  rig.engine->step();  // 8 of 18
  rig.engine->stop_choice("a", 0);
  rig.run();
  EXPECT_EQ(counted.tokens, 18 + 2 * 3);
  EXPECT_TRUE(sink->tokens[0].empty());
  EXPECT_EQ(sink->tokens[1].size(), 4u);
  EXPECT_EQ(sink->tokens[1], sink->tokens[2]);
  EXPECT_EQ(rig.engine->stats().num_free_blocks, 16);
}

TEST(Engine, AbortInThePromptFreesWhatItsChoicesShare) {
  EngineConfig c = small_config();
  c.max_num_batched_tokens = 8;
  Rig rig(c);
  auto sink = std::make_shared<Collect>();
  Request r = ask("a", std::vector<std::int32_t>(18, 3), 4, sink);
  r.n = 3;
  ASSERT_TRUE(rig.engine->submit(r).ok());
  rig.engine->step();
  EXPECT_EQ(rig.engine->stats().num_free_blocks, 16 - 5 - 2);
  rig.engine->abort("a");
  rig.engine->step();
  EXPECT_TRUE(sink->done);
  EXPECT_EQ(rig.engine->stats().num_free_blocks, 16);
}

}  // namespace
}  // namespace hearth
