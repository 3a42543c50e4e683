// logit_edits.h — what a request changes in its row of logits before a token is chosen, in this order:
//
//   allowed_token_ids   every other id ← −inf
//   bad_words           the last id of a sequence whose other ids have just been generated ← −inf
//   min_tokens          eos (unless ignore_eos) and stop ids ← −inf while output.size() < min_tokens
//   logit_bias          l ← l + bias
//   repetition_penalty  l ← l > 0 ? l / r : l · r          once for each distinct id of prompt and output
//   frequency_penalty   l ← l − f · count(id in output)
//   presence_penalty    l ← l − p                           for each distinct id of the output
//
// Ids outside the row are passed over (they are validated where requests come in).
//
// Owns      a count an id, zero between calls; only ids of the history are touched.
// Cost      what is asked for; the length of the history with penalties; a pass over the row with allowed_token_ids.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/runner.h"

namespace hearth {

class LogitEdits {
 public:
  // Whether apply() would change anything.
  static bool any(const SampleRow& row);
  void apply(std::span<float> logits, const SampleRow& row);

  static constexpr std::size_t kBytesPerToken =  // of the vocabulary
      3 * sizeof(std::int32_t) + sizeof(char) + sizeof(std::pair<std::int32_t, float>);
  void reserve(std::size_t vocab);

 private:
  void allow_only(std::span<float> logits, const std::vector<std::int32_t>& ids);
  void penalise(std::span<float> logits, const SampleRow& row);

  std::vector<std::int32_t> counts_;                   // [V] of output ids
  std::vector<char> in_prompt_;                        // [V]
  std::vector<std::int32_t> output_ids_, prompt_ids_;  // distinct
  std::vector<std::pair<std::int32_t, float>> kept_;
};

}  // namespace hearth
