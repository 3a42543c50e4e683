// hash_runner.h — stands where the model stands: a token's "keys and values" are the token, the next token is a hash of what is
// read back through the block table, and recurrent state is a running hash in its slot.
//
// So what a sequence says depends on its own tokens alone, however it was batched, chunked, preempted or shared; and any mistake
// with blocks, slots, positions or rows changes what it says. straight_line() is the same sequence without an engine.
//
// Order     sampled token = h mod vocab; greedy: h = H(context [, state]); otherwise H also takes (seed, output index). Ids that
//           min_tokens masks are passed over for the next id.
// Errors    what the batch promises is checked as it is read (HEARTH_CHECK): positions, slots, rows, spans.
#pragma once

#include <atomic>
#include <functional>

#include "base/clock.h"
#include "engine/runner.h"

namespace hearth {

struct HashRunnerConfig {
  RunnerInfo info;             // num_state_slots 0: no recurrent state
  FakeClock* clock = nullptr;  // advanced by step_seconds each step
  double step_seconds = 0.01;
  double sleep_seconds = 0;                       // real time a step takes (tests of a running server)
  std::int64_t throw_at_step = -1;                // that step (from 0) throws
  std::function<void(const StepBatch&)> observe;  // sees each batch before it runs
};

class HashRunner final : public Runner {
 public:
  explicit HashRunner(HashRunnerConfig config);
  const RunnerInfo& info() const override { return config_.info; }
  std::vector<SampledRow> step(const StepBatch& batch) override;

 private:
  SampledRow sample(const SampleRow& row, std::uint64_t context) const;

  HashRunnerConfig config_;
  std::vector<std::int32_t> kv_;      // [P · N] a token, -1 before anything was written
  std::vector<std::uint64_t> state_;  // [slots]
  std::int64_t num_steps_ = 0;
};

// What the engine must deliver for one choice over a HashRunner: computed from the tokens alone.
struct StraightLine {
  std::vector<TokenOutput> tokens;
  FinishReason finish = FinishReason::none;
  std::int32_t stop_token = -1;
};
StraightLine straight_line(const Request& request, int index, const RunnerInfo& info, std::int32_t max_model_len);

// prompt logprobs of the same kind: one entry a prompt token, the first with the token alone.
std::vector<TokenOutput> straight_line_prompt(const Request& request, const RunnerInfo& info);

}  // namespace hearth
