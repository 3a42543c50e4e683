// request.h — what the engine is asked and what it answers. Tokens only: no text, no JSON.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "engine/sampling_params.h"

namespace hearth {

enum class FinishReason { none, stop, length, abort, error };

// As clients and metrics call it: "stop", "length", "abort", "error".
constexpr std::string_view finish_reason_name(FinishReason finish) {
  switch (finish) {
    case FinishReason::stop:
      return "stop";
    case FinishReason::length:
      return "length";
    case FinishReason::error:
      return "error";
    default:
      return "abort";
  }
}

struct TokenLogprob {
  std::int32_t token = 0;
  float logprob = 0;
  int rank = 0;  // 1 = the best
};

// One chosen (or prompt) token with what was asked about it.
struct TokenOutput {
  std::int32_t token = 0;
  float logprob = 0;  // valid when logprobs >= 0
  int rank = 0;
  std::vector<TokenLogprob> top;  // the k best, best first
};

// What one step gave one choice. The last one of a choice has finish != none.
struct ChoiceOutput {
  int index = 0;                    // 0 … n-1
  std::vector<TokenOutput> tokens;  // may be empty on the last
  FinishReason finish = FinishReason::none;
  std::int32_t stop_token = -1;  // the id that ended it, when one did
  Status error;                  // with FinishReason::error
};

struct RequestTimes {  // Clock seconds
  double arrival = 0, first_scheduled = 0, first_token = 0, last_token = 0;
};

// Receives a request's output. Called on the engine thread: must not block; hand over and return.
class OutputSink {
 public:
  virtual ~OutputSink() = default;
  // Once, before any choice output, when prompt logprobs were asked: one entry a prompt token, the first empty.
  virtual void on_prompt_logprobs(std::vector<TokenOutput> rows) { (void)rows; }
  virtual void on_output(ChoiceOutput output) = 0;
  // After the last choice has ended; nothing follows. num_cached_tokens counts prompt tokens not computed.
  virtual void on_done(const RequestTimes& times, int num_cached_tokens, int num_preemptions) = 0;
};

struct Request {
  std::string id;
  std::vector<std::int32_t> prompt;  // at least one token
  SamplingParams sampling;
  int n = 1;
  int max_tokens = 16;  // 0 only with prompt_logprobs: the prompt is computed, nothing is generated
  int priority = 0;     // lower first, under the priority policy
  std::shared_ptr<OutputSink> sink;
};

}  // namespace hearth
