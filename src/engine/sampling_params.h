// sampling_params.h — how the next token of a sequence is chosen. Values are already validated and merged with the server's
// defaults; ranges and order of operations are those of docs/howto/sampling.md (vLLM's).
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace hearth {

// What logprobs report: the model's logits or their log-softmax, before anything changed them (raw) or after every edit, the
// temperature and the cuts of min_p, top_k and top_p (processed). One mode a server.
enum class LogprobsMode { raw_logprobs, processed_logprobs, raw_logits, processed_logits };

struct SamplingParams {
  float temperature = 1.0f;  // < 1e-5: greedy
  float top_p = 1.0f;
  int top_k = 0;  // 0: off
  float min_p = 0.0f;
  float presence_penalty = 0.0f;     // over output tokens
  float frequency_penalty = 0.0f;    // over output tokens
  float repetition_penalty = 1.0f;   // over prompt and output tokens
  std::optional<std::int64_t> seed;  // choice i draws with seed + i
  std::vector<std::int32_t> stop_token_ids;
  std::vector<std::int32_t> eos_token_ids;  // end the sequence unless ignore_eos
  bool ignore_eos = false;
  int min_tokens = 0;  // masks eos and stop ids until reached
  std::vector<std::pair<std::int32_t, float>> logit_bias;
  std::vector<std::vector<std::int32_t>> bad_words;  // token sequences
  std::vector<std::int32_t> allowed_token_ids;       // empty: all
  int logprobs = -1;              // -1: none; 0: the sampled token; k: and the k best; kAllLogprobs: every token
  int prompt_logprobs = -1;       // same, for each prompt position
  bool debug_poison_nan = false;  // dev mode only: the row of logits becomes NaN

  static constexpr int kAllLogprobs = 1 << 30;
  bool greedy() const { return temperature < 1e-5f; }
};

}  // namespace hearth
