#include "engine/logprobs.h"

#include <algorithm>
#include <cmath>

namespace hearth {

TokenOutput LogprobReader::read(std::span<const float> row, float max, std::int32_t token, int top, bool logits) {
  // In double: a logit of 30 minus a logsumexp of 30 keeps its digits.
  const double log_sum = logits ? 0.0 : static_cast<double>(max) + std::log(sum_exp(row, max));
  auto value = [&](float x) { return static_cast<float>(static_cast<double>(x) - log_sum); };
  TokenOutput out;
  out.token = token;
  out.logprob = value(row[static_cast<std::size_t>(token)]);
  out.rank = rank_in_row(row, token);
  if (top > 0) {
    gather_top_k(row, static_cast<std::int32_t>(std::min<std::size_t>(static_cast<std::size_t>(top), row.size())),
                 best_);
    std::sort(best_.begin(), best_.end(), better);
    out.top.reserve(best_.size());
    for (std::size_t i = 0; i < best_.size(); ++i)
      out.top.push_back({best_[i].id, value(best_[i].logit), static_cast<int>(i) + 1});
  }
  return out;
}

}  // namespace hearth
