// engine.h — one thread that decides what to compute next; it owns every sequence and every cache block.
//
// Owns      sequences, block tables, state slots, the waiting queue. Nothing else ever sees a block id.
// Threads   submit, abort, stop_choice, stats: any. The loop runs on the thread that start() makes; step() runs one iteration
//           on the caller's thread instead (tests with a fake clock; never both).
// Limits    max_num_seqs running choices; the queue is bounded by max_queue (resource_exhausted beyond it).
// Errors    every request ends: with finish reasons, or with FinishReason::error and a Status. A Runner that throws ends all of
//           them with error, and the engine refuses from then on (stats().alive is false). The constructor throws StartupError
//           when config and runner do not go together.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "engine/request.h"
#include "engine/runner.h"

namespace hearth {

class EngineMetrics;  // engine_metrics.h; must outlive the engine

enum class SchedulingPolicy { fcfs, priority };

struct EngineConfig {
  std::int32_t max_model_len = 4096;
  std::int32_t max_num_seqs = 256;
  std::int32_t max_num_batched_tokens = 2048;
  bool enable_chunked_prefill = true;
  std::int32_t long_prefill_token_threshold = 0;  // 0: off
  SchedulingPolicy policy = SchedulingPolicy::fcfs;
  std::int32_t max_queue = 1 << 20;  // waiting choices
  std::uint64_t seed = 0;            // for requests without one
};

struct EngineStats {
  std::int32_t num_running = 0;  // choices in the running set
  std::int32_t num_waiting = 0;
  std::int32_t num_blocks = 0, num_free_blocks = 0;
  std::int32_t num_state_slots = 0, num_free_state_slots = 0;
  std::uint64_t num_steps = 0;
  std::uint64_t num_prompt_tokens = 0, num_generation_tokens = 0, num_preemptions = 0;
  double last_step_seconds = 0;  // Clock time of the last completed step
  double busy_seconds = 0;       // spent in Runner::step
  double scheduler_seconds = 0;  // spent in the engine thread outside Runner::step, while there was work
  bool alive = true;
};

class Engine {
 public:
  Engine(EngineConfig config, std::unique_ptr<Runner> runner, const Clock& clock, EngineMetrics* metrics = nullptr);
  ~Engine();
  Engine(const Engine&) = delete;

  void start();
  // Ends the loop. drain_seconds > 0 lets what was accepted finish for that long; the rest is aborted (finish reason abort).
  void stop(double drain_seconds = 0);

  // Ok: the sink will get its on_done. Otherwise the sink is never called.
  Status submit(Request request);
  void abort(const std::string& request_id);  // blocks are free within a step
  // A stop string was found in what was already delivered: the choice ends and nothing more is delivered for it (a token of the
  // step in flight may still come before the engine has heard). on_done follows when no choice is left.
  void stop_choice(const std::string& request_id, int index);
  EngineStats stats() const;
  const EngineConfig& config() const;
  const RunnerInfo& runner_info() const;

  // One iteration: take messages, schedule, run, deliver. False when there was nothing to do.
  bool step();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
