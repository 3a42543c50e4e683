#include "engine/logit_edits.h"

#include <algorithm>
#include <limits>

namespace hearth {
namespace {

constexpr float kNever = -std::numeric_limits<float>::infinity();

bool inside(std::span<const float> logits, std::int32_t id) {
  return id >= 0 && static_cast<std::size_t>(id) < logits.size();
}

void ban(std::span<float> logits, std::int32_t id) {
  if (inside(logits, id)) logits[static_cast<std::size_t>(id)] = kNever;
}

bool penalises(const SamplingParams& p) {
  return p.repetition_penalty != 1.0f || p.frequency_penalty != 0.0f || p.presence_penalty != 0.0f;
}

bool below_min_tokens(const SampleRow& row) {
  return static_cast<std::int64_t>(row.output.size()) < row.params->min_tokens;
}

}  // namespace

bool LogitEdits::any(const SampleRow& row) {
  const SamplingParams& p = *row.params;
  return !p.allowed_token_ids.empty() || !p.bad_words.empty() || below_min_tokens(row) || !p.logit_bias.empty() ||
         penalises(p);
}

void LogitEdits::reserve(std::size_t vocab) {
  counts_.assign(vocab, 0);
  in_prompt_.assign(vocab, 0);
  for (std::vector<std::int32_t>* ids : {&output_ids_, &prompt_ids_}) {
    ids->resize(vocab);
    ids->clear();
  }
  kept_.resize(vocab);
}

void LogitEdits::allow_only(std::span<float> logits, const std::vector<std::int32_t>& ids) {
  kept_.clear();
  for (const std::int32_t id : ids)
    if (inside(logits, id)) kept_.emplace_back(id, logits[static_cast<std::size_t>(id)]);
  std::fill(logits.begin(), logits.end(), kNever);
  for (const auto& [id, logit] : kept_) logits[static_cast<std::size_t>(id)] = logit;
}

void LogitEdits::penalise(std::span<float> logits, const SampleRow& row) {
  const SamplingParams& p = *row.params;
  counts_.resize(logits.size(), 0);
  in_prompt_.resize(logits.size(), 0);
  for (const std::int32_t id : row.output)
    if (inside(logits, id) && counts_[static_cast<std::size_t>(id)]++ == 0) output_ids_.push_back(id);
  if (p.repetition_penalty != 1.0f) {
    for (const std::int32_t id : row.prompt) {
      if (!inside(logits, id) || counts_[static_cast<std::size_t>(id)] > 0) continue;
      char& known = in_prompt_[static_cast<std::size_t>(id)];
      if (known == 0) prompt_ids_.push_back(id);
      known = 1;
    }
    auto repeat = [&](std::int32_t id) {
      float& l = logits[static_cast<std::size_t>(id)];
      l = l > 0 ? l / p.repetition_penalty : l * p.repetition_penalty;
    };
    for (const std::int32_t id : prompt_ids_) repeat(id);
    for (const std::int32_t id : output_ids_) repeat(id);
  }
  for (const std::int32_t id : output_ids_) {
    float& l = logits[static_cast<std::size_t>(id)];
    l -= p.frequency_penalty * static_cast<float>(counts_[static_cast<std::size_t>(id)]);
    l -= p.presence_penalty;
    counts_[static_cast<std::size_t>(id)] = 0;
  }
  for (const std::int32_t id : prompt_ids_) in_prompt_[static_cast<std::size_t>(id)] = 0;
  output_ids_.clear();
  prompt_ids_.clear();
}

void LogitEdits::apply(std::span<float> logits, const SampleRow& row) {
  const SamplingParams& p = *row.params;
  if (!p.allowed_token_ids.empty()) allow_only(logits, p.allowed_token_ids);
  for (const std::vector<std::int32_t>& word : p.bad_words) {
    if (word.empty() || word.size() - 1 > row.output.size()) continue;
    const auto tail = row.output.last(word.size() - 1);
    if (std::equal(tail.begin(), tail.end(), word.begin())) ban(logits, word.back());
  }
  if (below_min_tokens(row)) {
    if (!p.ignore_eos)
      for (const std::int32_t id : p.eos_token_ids) ban(logits, id);
    for (const std::int32_t id : p.stop_token_ids) ban(logits, id);
  }
  for (const auto& [id, bias] : p.logit_bias)
    if (inside(logits, id)) logits[static_cast<std::size_t>(id)] += bias;
  if (penalises(p)) penalise(logits, row);
}

}  // namespace hearth
