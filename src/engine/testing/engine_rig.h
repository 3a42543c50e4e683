// engine_rig.h — a small engine over a HashRunner, for tests: limits one can count with, a sink that keeps what it is told, a fake
// clock of a second a step.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <condition_variable>
#include <mutex>

#include "engine/engine.h"
#include "engine/engine_metrics.h"
#include "engine/testing/hash_runner.h"

namespace hearth {

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

inline RunnerInfo small_info() {
  RunnerInfo info;
  info.vocab_size = 100;
  info.block_tokens = 4;
  info.num_blocks = 16;
  info.max_batch_tokens = 64;
  info.max_seqs = 8;
  return info;
}

inline EngineConfig small_config() {
  EngineConfig c;
  c.max_model_len = 32;
  c.max_num_seqs = 8;
  c.max_num_batched_tokens = 64;
  return c;
}

inline Request ask(const std::string& id, std::vector<std::int32_t> prompt, int max_tokens,
                   std::shared_ptr<OutputSink> sink) {
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

}  // namespace hearth
