// sampler.h — one token from one row of logits, and what is reported about it.
//
//   raw values kept for logprobs → edits (logit_edits.h) → greedy pick, or: temperature → min_p → top_k → top_p → draw
//
// Draws     u = random_uniform(row.seed, row.output.size()): the same request says the same whatever else runs.
// Greedy    the largest logit after the edits, ties to the lowest id.
// Errors    a row with NaN or Inf: internal. Edits that leave nothing to choose: invalid_argument. Both in SampledRow::error.
// Threads   one at a time; one Sampler a thread.
// Cost      greedy without logprobs: one pass. Sampling: two or three. Logprobs: two more and the k best.
#pragma once

#include <span>
#include <vector>

#include "engine/logit_edits.h"
#include "engine/logprobs.h"
#include "engine/nucleus.h"
#include "engine/runner.h"

namespace hearth {

class Sampler {
 public:
  explicit Sampler(LogprobsMode mode = LogprobsMode::raw_logprobs) : mode_(mode) {}

  // logits [V] f32 are scratch afterwards.
  SampledRow sample(std::span<float> logits, const SampleRow& row);

  // What rows of this many logits need, taken now instead of when a request first asks for it.
  static constexpr std::size_t bytes(std::size_t vocab) {
    return vocab *
           (sizeof(float) + LogitEdits::kBytesPerToken + LogprobReader::kBytesPerToken + Nucleus::kBytesPerToken);
  }
  void reserve(std::size_t vocab) {
    raw_.resize(vocab);
    edits_.reserve(vocab);
    reader_.reserve(vocab);
    nucleus_.reserve(vocab);
  }

 private:
  LogprobsMode mode_;
  LogitEdits edits_;
  LogprobReader reader_;
  Nucleus nucleus_;
  std::vector<float> raw_;
};

}  // namespace hearth
