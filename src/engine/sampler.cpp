#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/rng.h"

namespace hearth {
namespace {

bool infinite(float x) { return std::isinf(x); }

SampledRow failed(Status status) {
  SampledRow row;
  row.error = std::move(status);
  return row;
}

}  // namespace

SampledRow Sampler::sample(std::span<float> logits, const SampleRow& row) {
  const SamplingParams& p = *row.params;
  if (p.debug_poison_nan) logits[0] = std::numeric_limits<float>::quiet_NaN();
  const RowScan raw = scan_row(logits);
  if (!raw.finite) {
    const auto bad = std::find_if(logits.begin(), logits.end(), [](float x) { return !std::isfinite(x); });
    return failed({Code::internal,
                   std::string("the model gave ") + (infinite(*bad) ? "an infinite number" : "NaN") +
                       " as the logit of token " + std::to_string(bad - logits.begin()) + " at output position " +
                       std::to_string(row.output.size()),
                   {}});
  }
  const bool as_logits = mode_ == LogprobsMode::raw_logits || mode_ == LogprobsMode::processed_logits;
  SampledRow out;
  if (!row.sample) {
    out.token = reader_.read(logits, raw.max, row.target, p.prompt_logprobs, as_logits);
    return out;
  }

  const bool wants_raw = p.logprobs >= 0 && (mode_ == LogprobsMode::raw_logprobs || mode_ == LogprobsMode::raw_logits);
  const bool wants_processed = p.logprobs >= 0 && !wants_raw;
  const bool edited = LogitEdits::any(row);
  std::span<const float> reported = logits;
  if (wants_raw && (edited || !p.greedy())) {
    raw_.assign(logits.begin(), logits.end());
    reported = raw_;
  }
  RowScan now = raw;
  if (edited) {
    edits_.apply(logits, row);
    now = scan_row(logits);
    if (std::isnan(now.max) || infinite(now.max))
      return failed(
          invalid_argument("no token is left to choose: allowed_token_ids, bad_words and min_tokens exclude every one",
                           p.allowed_token_ids.empty() ? "bad_words" : "allowed_token_ids"));
  }
  std::int32_t chosen = now.argmax;
  float max = now.max;
  if (!p.greedy()) {
    if (p.temperature != 1.0f) divide_row(logits, p.temperature);
    max /= p.temperature;
    nucleus_.cut(logits, max, p);
    chosen = nucleus_.draw(random_uniform(row.seed, row.output.size()));
    if (wants_processed) nucleus_.mask(logits);
  }
  out.token.token = chosen;
  if (p.logprobs >= 0) out.token = reader_.read(reported, wants_raw ? raw.max : max, chosen, p.logprobs, as_logits);
  return out;
}

}  // namespace hearth
