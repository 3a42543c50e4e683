// engine_metrics.h — what the engine tells whoever counts. The server implements it with a Prometheus library; tests with a struct.
//
// Threads   called on the engine thread (and, for a request refused at submit, not at all): must not block.
// Units     Clock seconds; tokens.
// Limits    gauges (running, waiting, blocks in use) are not told here: read Engine::stats() when they are asked for.
//           Every token is told exactly once: sums over on_step agree with sums over on_request_done, except for requests that
//           are still running.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/request.h"

namespace hearth {

struct StepStats {
  int num_tokens = 0;             // rows of the step: prefill, decode and recomputed ones (vllm:iteration_tokens_total)
  int num_prompt_tokens = 0;      // prompt tokens computed or found for the first time: once a request, whatever n
  int num_cached_tokens = 0;      // prompt tokens found in the prefix cache by requests first scheduled in this step
  int num_prefix_queries = 0;     // prompt tokens looked up there
  int num_generation_tokens = 0;  // sampled tokens delivered
  int num_preemptions = 0;
  double runner_seconds = 0;             // Runner::step
  double engine_seconds = 0;             // the rest of the iteration
  std::span<const double> ttft_seconds;  // one a request whose first token came in this step: arrival → first token
  std::span<const double> inter_token_seconds;  // one a choice that got a token and had one before
};

struct ChoiceStats {
  int num_generation_tokens = 0;
  FinishReason finish = FinishReason::none;
};

// A request that was accepted and has ended, whatever the reason.
struct RequestStats {
  int num_prompt_tokens = 0;
  int num_cached_tokens = 0;  // prompt tokens not computed
  int num_preemptions = 0;
  int n = 1;
  int max_tokens = 0;
  std::vector<ChoiceStats> choices;  // n of them
  // Negative: that point was never reached (aborted while waiting, no token generated).
  double queue_seconds = -1;      // arrival → first scheduled
  double prefill_seconds = -1;    // first scheduled → first token
  double decode_seconds = -1;     // first token → last token
  double inference_seconds = -1;  // first scheduled → last token
  double ttft_seconds = -1;       // arrival → first token
  double e2e_seconds = 0;         // arrival → end

  int num_generation_tokens() const {
    int sum = 0;
    for (const ChoiceStats& choice : choices) sum += choice.num_generation_tokens;
    return sum;
  }
  int max_num_generation_tokens() const {
    int most = 0;
    for (const ChoiceStats& choice : choices)
      most = choice.num_generation_tokens > most ? choice.num_generation_tokens : most;
    return most;
  }
  // Decode time a token after the first, of the longest choice; negative when there is no second token.
  double seconds_per_output_token() const {
    const int most = max_num_generation_tokens();
    return most > 1 && decode_seconds >= 0 ? decode_seconds / (most - 1) : -1;
  }
};

class EngineMetrics {
 public:
  virtual ~EngineMetrics() = default;
  virtual void on_step(const StepStats& stats) = 0;
  virtual void on_request_done(const RequestStats& stats) = 0;  // after the sink's on_done
};

}  // namespace hearth
