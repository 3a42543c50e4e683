// row_math.h — passes over one row of logits [V]: the only loops of sampling that touch the whole vocabulary.
//
// Order     sums run in 8 lanes of double and end in one fixed tree, the same on every machine and instruction set: what a row
//           gives depends on its numbers alone.
// Cost      each is one pass; AVX2 when the machine has it. exp is a polynomial of degree 7, relative error below 3e-7.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hearth {

struct RowScan {
  float max = 0;            // -inf when every number is
  std::int32_t argmax = 0;  // the lowest index that holds it
  bool finite = true;       // no NaN, no Inf
};

// max and argmax mean nothing when a NaN is there.
RowScan scan_row(std::span<const float> row);

// Σ exp(row[i] − max); numbers of −inf add 0.
double sum_exp(std::span<const float> row, float max);

// The same a chunk of kSumChunk numbers; returns their total.
inline constexpr std::int32_t kSumChunk = 256;
double sum_exp_chunks(std::span<const float> row, float max, std::vector<double>& sums);

// exp(x) as above, for x <= 0; 0 below −87.
float exp_one(float x);

struct Candidate {
  float logit = 0;
  std::int32_t id = 0;
};
// weights[i] = exp(candidates[i].logit − max); their sum in order.
double exp_candidates(std::span<const Candidate> candidates, float max, std::span<float> weights);

// row[i] ← row[i] / divisor.
void divide_row(std::span<float> row, float divisor);

// 1 + how many come before row[index]: larger, or equal with a lower index.
std::int32_t rank_in_row(std::span<const float> row, std::int32_t index);

// Best first: higher logit, then lower id.
inline bool better(const Candidate& a, const Candidate& b) {
  return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
}

// Every id with logit >= threshold (and above −inf), ids ascending.
void gather_at_least(std::span<const float> row, float threshold, std::vector<Candidate>& out);

// The k best of those above −inf, in no order. A running threshold keeps what is looked at twice to a few times k.
void gather_top_k(std::span<const float> row, std::int32_t k, std::vector<Candidate>& out);

}  // namespace hearth
