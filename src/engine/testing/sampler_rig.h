// sampler_rig.h — one row of logits through a Sampler, for tests.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "engine/sampler.h"

namespace hearth {

inline constexpr float kInf = std::numeric_limits<float>::infinity();

struct Asked {
  SamplingParams params;
  std::vector<std::int32_t> prompt, output;
  std::uint64_t seed = 0;
  LogprobsMode mode = LogprobsMode::raw_logprobs;

  Asked() { params.temperature = 0; }
  SampledRow sample(std::vector<float> logits) const {
    SampleRow row;
    row.params = &params;
    row.prompt = prompt;
    row.output = output;
    row.seed = seed;
    Sampler sampler(mode);
    return sampler.sample(logits, row);
  }
  std::int32_t token(std::vector<float> logits) const {
    const SampledRow row = sample(std::move(logits));
    EXPECT_TRUE(row.error.ok()) << row.error.message;
    return row.token.token;
  }
  // Which tokens can come out, over many draws.
  std::vector<std::int32_t> possible(const std::vector<float>& logits, int draws = 2000) {
    std::vector<char> seen(logits.size(), 0);
    for (int i = 0; i < draws; ++i) {
      seed = static_cast<std::uint64_t>(i);
      seen[static_cast<std::size_t>(token(logits))] = 1;
    }
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i]) ids.push_back(static_cast<std::int32_t>(i));
    return ids;
  }
};

// Probabilities .5 .3 .15 .05 at temperature 1, in an order that is not theirs.
inline const std::vector<float> kFour{std::log(0.15f), std::log(0.5f), std::log(0.05f), std::log(0.3f)};

using Ids = std::vector<std::int32_t>;

}  // namespace hearth
