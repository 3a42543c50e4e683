// logprobs.h — what a row says about one token and about its best ones.
//
//   logprob(i) = row[i] − ln Σ_j exp(row[j])        rank(i) = 1 + how many are larger (ties: lower id first)
//
// With logits = true the row's own numbers are given instead of log-probabilities.
#pragma once

#include <span>
#include <vector>

#include "engine/request.h"
#include "engine/row_math.h"

namespace hearth {

class LogprobReader {
 public:
  static constexpr std::size_t kBytesPerToken = sizeof(Candidate);  // of the vocabulary
  void reserve(std::size_t vocab) { best_.resize(vocab); }

  // top: how many of the best to list (SamplingParams::kAllLogprobs: every one above −inf). max: the row's largest number.
  TokenOutput read(std::span<const float> row, float max, std::int32_t token, int top, bool logits);

 private:
  std::vector<Candidate> best_;
};

}  // namespace hearth
