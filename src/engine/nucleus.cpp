#include "engine/nucleus.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/check.h"

namespace hearth {

void Nucleus::reserve(std::size_t vocab) {
  sums_.resize(vocab / kSumChunk + 1);
  gathered_.resize(vocab);
  weights_.resize(vocab);
  kept_.resize(vocab);
}

void Nucleus::cut(std::span<const float> row, float max, const SamplingParams& params) {
  row_ = row;
  max_ = max;
  const auto vocab = static_cast<std::int32_t>(row.size());
  const bool top_k = params.top_k > 0 && params.top_k < vocab;
  const bool top_p = params.top_p < 1.0f;
  const bool min_p = params.min_p > 0.0f;
  whole_ = !top_k && !top_p && !min_p;
  if (whole_) {
    total_ = sum_exp_chunks(row, max, sums_);
    return;
  }
  float threshold = -std::numeric_limits<float>::infinity();
  if (min_p) threshold = static_cast<float>(static_cast<double>(max) + std::log(static_cast<double>(params.min_p)));
  if (top_k || min_p) {
    if (top_k) {
      gather_top_k(row, params.top_k, gathered_);
      if (min_p) std::erase_if(gathered_, [&](const Candidate& c) { return c.logit < threshold; });
    } else {
      gather_at_least(row, threshold, gathered_);
    }
    weigh();
    if (top_p) keep_mass(static_cast<double>(params.top_p) * total_);
    return;
  }
  // top_p alone. The tokens it keeps are the best ones, so any threshold will do above which the mass is reached: a peaked row
  // needs few. Tokens below (1 − top_p) / V of the sum hold less than 1 − top_p together: none of those is ever needed.
  const double sum = sum_exp(row, max);
  const double wanted = static_cast<double>(params.top_p) * sum;
  const double least = (1.0 - static_cast<double>(params.top_p)) * sum / vocab;
  const float deepest = std::min(max, static_cast<float>(static_cast<double>(max) + std::log(least)));
  for (const float depth : {5.0f, 8.0f}) {
    if (max - depth <= deepest) break;
    gather_at_least(row, max - depth, gathered_);
    weigh();
    if (total_ >= wanted) return keep_mass(wanted);
  }
  gather_at_least(row, deepest, gathered_);
  weigh();
  keep_mass(wanted);
}

void Nucleus::weigh() {
  HEARTH_CHECK(!gathered_.empty());
  weights_.resize(gathered_.size());
  total_ = exp_candidates(gathered_, max_, weights_);
  kept_.resize(gathered_.size());
  for (std::size_t i = 0; i < kept_.size(); ++i) kept_[i] = {gathered_[i], weights_[i]};
}

// Keeps the fewest best candidates whose weights reach `wanted`. Halves the range that holds the border each time.
void Nucleus::keep_mass(double wanted) {
  std::size_t low = 0, high = kept_.size();  // the number to keep is in (low, high]
  double below = 0;                          // weight of [0, low)
  auto at = [&](std::size_t i) { return kept_.begin() + static_cast<std::ptrdiff_t>(i); };
  while (high - low > 1) {
    const std::size_t middle = low + (high - low) / 2;
    std::nth_element(at(low), at(middle), at(high),
                     [](const Weighted& a, const Weighted& b) { return better(a.candidate, b.candidate); });
    double half = 0;
    for (std::size_t i = low; i < middle; ++i) half += static_cast<double>(kept_[i].weight);
    if (below + half >= wanted) {
      high = middle;
    } else {
      below += half;
      low = middle;
    }
  }
  kept_.resize(high);
  total_ = 0;
  for (const Weighted& w : kept_) total_ += static_cast<double>(w.weight);
}

std::int32_t Nucleus::draw(double u) const {
  double left = u * total_;
  if (!whole_) {
    for (const Weighted& w : kept_) {
      left -= static_cast<double>(w.weight);
      if (left < 0) return w.candidate.id;
    }
    return kept_.back().candidate.id;  // rounding only
  }
  std::size_t chunk = 0;
  while (chunk + 1 < sums_.size() && left >= sums_[chunk]) left -= sums_[chunk++];
  const std::size_t begin = chunk * kSumChunk, end = std::min(row_.size(), begin + kSumChunk);
  std::int32_t last = -1;
  for (std::size_t i = begin; i < end; ++i) {
    const float weight = exp_one(row_[i] - max_);
    if (weight <= 0) continue;
    last = static_cast<std::int32_t>(i);
    left -= static_cast<double>(weight);
    if (left < 0) return last;
  }
  for (std::size_t i = begin; last < 0 && i-- > 0;)  // rounding only: the last one that can be drawn
    if (exp_one(row_[i] - max_) > 0) last = static_cast<std::int32_t>(i);
  return last;
}

void Nucleus::mask(std::span<float> row) const {
  if (whole_) return;
  std::fill(row.begin(), row.end(), -std::numeric_limits<float>::infinity());
  for (const Weighted& w : kept_) row[static_cast<std::size_t>(w.candidate.id)] = w.candidate.logit;
}

}  // namespace hearth
