// Everything is taken before "ready": full steps of every kind of model, over the longest context, leave the device's memory as it
// was planned. An operation that asks for more than was reserved ends the program (compute/workspace.h).
#include <gtest/gtest.h>

#include "backend/cpu/cpu_ops.h"
#include "backend/ref/ref_ops.h"
#include "base/rng.h"
#include "checkpoint/weight_source.h"
#include "engine/device_runner.h"
#include "engine/engine.h"
#include "nn/binder.h"

namespace hearth {
namespace {

struct Collect final : OutputSink {
  std::size_t tokens = 0;
  bool done = false;
  void on_output(ChoiceOutput out) override { tokens += out.tokens.size(); }
  void on_done(const RequestTimes&, int, int) override { done = true; }
};

void run_full_steps(const std::string& folder, Ops& ops, std::int32_t max_model_len) {
  SCOPED_TRACE(folder + " on " + std::string(ops.name()));
  const auto source = open_checkpoint(std::string(HEARTH_GOLDEN) + "/" + folder);
  auto model = model_for(source->config()).make(source->config());
  Binder binder(*source, ops);
  model->bind(binder);
  binder.finish();
  const std::int64_t vocab = model->info().vocab_size;

  DeviceRunnerConfig d;
  d.max_batch_tokens = 40;
  d.max_seqs = 8;
  d.max_model_len = max_model_len;
  d.num_blocks = 9 * static_cast<std::int32_t>(d.max_blocks());
  d.num_state_slots = 8;
  d.kv_dtype = DType::f16;
  const DevicePlan plan = plan_device(*model, ops, d);
  EngineConfig e;
  e.max_model_len = max_model_len;
  e.max_num_seqs = d.max_seqs;
  e.max_num_batched_tokens = d.max_batch_tokens;
  FakeClock clock;
  Engine engine(e, std::make_unique<DeviceRunner>(std::move(model), ops, d), clock);
  const std::map<std::string, std::size_t> ready = ops.device().used_bytes();
  EXPECT_GT(plan.workspace, 0);
  EXPECT_GE(ready.at("workspace"), static_cast<std::size_t>(plan.workspace));
  EXPECT_LE(ready.at("workspace"), static_cast<std::size_t>(plan.workspace) + 2 * 4096);  // whole pages

  Rng rng(5);
  std::vector<std::shared_ptr<Collect>> sinks;
  auto ask = [&](std::int32_t prompt, int max_tokens, int n) {
    Request r;
    r.id = std::to_string(sinks.size());
    for (std::int32_t i = 0; i < prompt; ++i)
      r.prompt.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(vocab))));
    r.n = n;
    r.max_tokens = max_tokens;
    r.sampling.top_p = 0.9f;
    r.sampling.repetition_penalty = 1.1f;
    r.sampling.seed = 3;
    r.sampling.logprobs = 3;
    r.sampling.ignore_eos = true;
    sinks.push_back(std::make_shared<Collect>());
    r.sink = sinks.back();
    ASSERT_TRUE(engine.submit(r).ok());
  };
  const auto run = [&] {
    while (engine.step()) {
    }
  };
  ask(max_model_len - 4, 4, 1);  // alone: few tiles, the longest context
  run();
  for (int i = 0; i < 3; ++i) ask(max_model_len / 2, 12, 1);  // full steps of prompts and decodes
  ask(7, 12, 3);
  ask(max_model_len - 12, 12, 2);
  run();
  for (const auto& sink : sinks) EXPECT_TRUE(sink->done && sink->tokens > 0);
  EXPECT_EQ(ops.device().used_bytes(), ready);
}

const char* const kFolders[] = {"qwen3_5_moe_tiny/bf16", "qwen3_5_moe_tiny/fp8", "qwen3_5_dense_tiny", "tiny_qwen3_moe",
                                "tiny_llama"};

TEST(MemoryGrowth, NoneOnTheCpuAfterReady) {
  for (const char* folder : kFolders) {
    const auto ops = make_cpu_ops({.threads = 3, .isa = ""});
    run_full_steps(folder, *ops, 1200);  // attention over several spans
  }
}

TEST(MemoryGrowth, NoneOnTheReferenceAfterReady) {
  for (const char* folder : kFolders) {
    RefOps ops;
    run_full_steps(folder, ops, 48);
  }
}

}  // namespace
}  // namespace hearth
