#include "nn/rope.h"

#include <gtest/gtest.h>

#include "base/status.h"
#include "checkpoint/safetensors.h"

namespace hearth {
namespace {

TEST(RopeInvFreq, Qwen35ConstantsToTheBit) {
  const Json text = {
      {"head_dim", 256},
      {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 10000000}, {"partial_rotary_factor", 0.25}}}};
  const SafetensorsFile f(std::string(HEARTH_GOLDEN) + "/kernels/rope_mrope.safetensors");
  EXPECT_EQ(rope_inv_freq(text, 256), f.read_f32("inv_freq"));
}

TEST(RopeInvFreq, TransformersFourForm) {
  EXPECT_EQ(rope_inv_freq({{"rope_theta", 10000.0}}, 4), (std::vector<float>{1.0f, 0.01f}));
  EXPECT_EQ(rope_inv_freq({{"rope_theta", 10000.0}, {"rope_scaling", {{"type", "linear"}, {"factor", 4.0}}}}, 4),
            (std::vector<float>{0.25f, 0.0025f}));
}

// Llama 3.1: θ 5e5, head_dim 128, factor 8, low 1, high 4, original 8192. Wavelength 2π/f: below 2048 unchanged, above 8192
// divided by 8, between them a blend.
TEST(RopeInvFreq, Llama3Scaling) {
  const Json text = {{"rope_theta", 500000.0},
                     {"rope_scaling",
                      {{"rope_type", "llama3"},
                       {"factor", 8.0},
                       {"low_freq_factor", 1.0},
                       {"high_freq_factor", 4.0},
                       {"original_max_position_embeddings", 8192}}}};
  const std::vector<float> plain = rope_inv_freq({{"rope_theta", 500000.0}}, 128), scaled = rope_inv_freq(text, 128);
  EXPECT_EQ(scaled[0], plain[0]);
  EXPECT_EQ(scaled[28], plain[28]);  // wavelength 1956
  EXPECT_LT(scaled[29], plain[29]);  // 2401: (8192 / 2401 − 1) / 3 = 0.8040 of it, the rest by 8
  EXPECT_NEAR(scaled[29] / plain[29], 0.8040 + (1 - 0.8040) / 8, 2e-3);
  EXPECT_FLOAT_EQ(scaled[63], plain[63] / 8);
}

TEST(RopeInvFreq, FrequencyFactorsDivide) {
  EXPECT_EQ(rope_inv_freq({{"rope_theta", 10000.0}, {"rope_freq_factors", {1.0, 2.0}}}, 4),
            (std::vector<float>{1.0f, 0.005f}));
  EXPECT_THROW(rope_inv_freq({{"rope_theta", 10000.0}, {"rope_freq_factors", {1.0}}}, 4), StartupError);
  EXPECT_THROW(rope_inv_freq({{"rope_theta", 10000.0}, {"rope_freq_factors", {1.0, 0.0}}}, 4), StartupError);
}

TEST(RopeInvFreq, APartBeyondTheHeadIsRefused) {
  for (const double partial : {-0.5, 0.0, 1.5, 1e300})
    EXPECT_THROW(rope_inv_freq({{"rope_theta", 10000.0}, {"partial_rotary_factor", partial}}, 64), StartupError);
}

TEST(RopeInvFreq, RefusesByName) {
  try {
    rope_inv_freq({{"rope_theta", 10000.0}, {"rope_scaling", {{"rope_type", "yarn"}, {"factor", 4.0}}}}, 64);
    FAIL() << "yarn was taken";
  } catch (const StartupError& e) {
    EXPECT_EQ(e.where(), "config.json: rope_type");
    EXPECT_STREQ(e.what(), "expected default, linear or llama3, found yarn");
  }
}

}  // namespace
}  // namespace hearth
