// nucleus.h — which tokens stay after min_p, top_k and top_p, and one drawn from them.
//
//   min_p   p_i >= min_p · p_max                      top_k   the k best (ties: lower id)
//   top_p   the fewest best tokens whose probabilities, renormalised over what the cuts before left, reach top_p
//
// The row is already divided by the temperature. Nothing is sorted: cuts are thresholds and partitions.
//
// Order     the draw walks what is left in an order that depends on the row alone, so (row, u) gives one token.
// Cost      one pass to gather, one for the sum of top_p or of an uncut row; partitions over what was gathered.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/row_math.h"
#include "engine/sampling_params.h"

namespace hearth {

class Nucleus {
 public:
  // Prepares the draw. max: the row's largest number, above −inf.
  void cut(std::span<const float> row, float max, const SamplingParams& params);
  // The token at u in [0, 1) of the probability that is left.
  std::int32_t draw(double u) const;
  // Sets every number that was cut to −inf (processed logprobs).
  void mask(std::span<float> row) const;

 private:
  struct Weighted {
    Candidate candidate;
    float weight = 0;  // exp(logit − max)
  };

 public:
  static constexpr std::size_t kBytesPerToken =
      sizeof(Candidate) + sizeof(float) + sizeof(Weighted);  // of the vocabulary
  void reserve(std::size_t vocab);

 private:
  void weigh();  // kept_ and total_ from gathered_
  void keep_mass(double wanted);

  std::span<const float> row_;
  float max_ = 0;
  bool whole_ = true;  // nothing was cut: draw from the row by chunk sums
  double total_ = 0;
  std::vector<double> sums_;
  std::vector<Candidate> gathered_;
  std::vector<float> weights_;
  std::vector<Weighted> kept_;
};

}  // namespace hearth
