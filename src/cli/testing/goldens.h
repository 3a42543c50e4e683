// goldens.h — reading tests/golden: a checkpoint's goldens.json and goldens.safetensors, and comparing with them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "base/json.h"
#include "checkpoint/safetensors.h"

namespace hearth {

// Absolute, on logits, hidden states, states and KV: the goldens' own for engines that compute in f32
// (tests/golden/README.md §2: the official code in f32 and an independent one in f64 differ by up to 2.3e-5; the
// weakest of 29 typical mistakes moves a logit by 0.04).
inline constexpr double kGoldenTolerance = 1e-4;

inline std::string golden_path(const std::string& name) { return std::string(HEARTH_GOLDEN) + "/" + name; }

inline Json read_golden_json(const std::string& name) {
  std::ifstream file(golden_path(name));
  std::stringstream text;
  text << file.rdbuf();
  const Result<Json> json = parse_json(text.str());
  HEARTH_CHECK(json.ok());
  return *json;
}

// Largest difference; NaN when a number is NaN.
inline double largest_difference(const std::vector<float>& got, const std::vector<float>& expected) {
  EXPECT_EQ(got.size(), expected.size());
  double largest = 0;
  for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
    const double d = std::fabs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
    if (!(d <= largest)) largest = d;
  }
  return largest;
}

struct Goldens {  // folder: "qwen3_5_moe_tiny/goldens_bf16"
  explicit Goldens(const std::string& folder)
      : values(golden_path(folder + "/goldens.safetensors")), json(read_golden_json(folder + "/goldens.json")) {}

  std::vector<std::int32_t> ids(const std::string& prompt) const {
    return json["prompts"][prompt]["ids"].get<std::vector<std::int32_t>>();
  }
  std::vector<std::int32_t> greedy(const std::string& prompt) const {
    return json["prompts"][prompt].value("greedy", Json::array()).get<std::vector<std::int32_t>>();
  }
  double difference(const std::vector<float>& got, const std::string& tensor) const {
    return largest_difference(got, values.read_f32(tensor));
  }

  SafetensorsFile values;
  Json json;
};

}  // namespace hearth
