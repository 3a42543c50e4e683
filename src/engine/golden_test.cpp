// The official code's greedy continuations, through the engine: all prompts at once, cut into chunks, with so few blocks that
// some are preempted and computed again.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "backend/cpu/cpu_ops.h"
#include "base/json.h"
#include "checkpoint/weight_source.h"
#include "engine/device_runner.h"
#include "engine/engine.h"
#include "nn/binder.h"

namespace hearth {
namespace {

struct Collect final : OutputSink {
  std::vector<std::int32_t> tokens;
  int preemptions = 0;
  bool done = false;
  void on_output(ChoiceOutput out) override {
    for (const TokenOutput& t : out.tokens) tokens.push_back(t.token);
  }
  void on_done(const RequestTimes&, int, int p) override { done = true, preemptions = p; }
};

void continue_greedily(const std::string& folder, const std::string& goldens) {
  const std::string root = HEARTH_GOLDEN;
  std::ifstream file(root + "/" + goldens);
  const Json prompts = Json::parse(file)["prompts"];

  auto ops = make_cpu_ops({.threads = 2, .isa = ""});
  const auto source = open_checkpoint(root + "/" + folder);
  auto model = model_for(source->config()).make(source->config());
  Binder binder(*source, *ops);
  model->bind(binder);
  binder.finish();

  DeviceRunnerConfig d;
  d.max_batch_tokens = 48;
  d.max_seqs = 4;
  d.max_model_len = 400;
  d.num_blocks = 30;  // the longest needs 23
  d.num_state_slots = 4;
  EngineConfig e;
  e.max_model_len = 400;
  e.max_num_seqs = 4;
  e.max_num_batched_tokens = 48;
  SteadyClock clock;
  Engine engine(e, std::make_unique<DeviceRunner>(std::move(model), *ops, d), clock);
  std::vector<std::pair<std::string, std::shared_ptr<Collect>>> answers;
  for (const auto& [name, prompt] : prompts.items()) {
    if (!prompt.contains("greedy")) continue;
    Request r;
    r.id = name;
    r.prompt = prompt["ids"].get<std::vector<std::int32_t>>();
    r.max_tokens = static_cast<int>(prompt["greedy"].size());
    r.sampling.temperature = 0;
    answers.emplace_back(name, std::make_shared<Collect>());
    r.sink = answers.back().second;
    ASSERT_TRUE(engine.submit(r).ok());
  }
  ASSERT_EQ(answers.size(), 10u);
  while (engine.step()) {
  }
  int preemptions = 0;
  for (const auto& [name, answer] : answers) {
    EXPECT_TRUE(answer->done);
    EXPECT_EQ(answer->tokens, prompts[name]["greedy"].get<std::vector<std::int32_t>>()) << folder << " " << name;
    preemptions += answer->preemptions;
  }
  EXPECT_GT(preemptions, 0);
}

TEST(EngineGolden, TinyMoeContinuations) {
  continue_greedily("qwen3_5_moe_tiny/bf16", "qwen3_5_moe_tiny/goldens_bf16/goldens.json");
}
TEST(EngineGolden, TinyMoeFp8Continuations) {
  continue_greedily("qwen3_5_moe_tiny/fp8", "qwen3_5_moe_tiny/goldens_fp8/goldens.json");
}
TEST(EngineGolden, TinyDenseContinuations) {
  continue_greedily("qwen3_5_dense_tiny", "qwen3_5_dense_tiny/goldens/goldens.json");
}

}  // namespace
}  // namespace hearth
