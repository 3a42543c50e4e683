// Blocks and values compared with the `gguf` package's (0.19.0): the literals below are its results for the same bytes.
#include "quant/format.h"

#include <array>
#include <cmath>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "quant/blocks.h"
#include "tensor/float16.h"

namespace hearth {
namespace {

using testing::ElementsAre;

std::vector<std::uint8_t> lcg_bytes(std::size_t n, std::uint32_t x) {
  std::vector<std::uint8_t> out(n);
  for (std::uint8_t& b : out) {
    x = x * 1664525u + 1013904223u;
    b = static_cast<std::uint8_t>(x >> 24);
  }
  return out;
}

std::uint64_t fnv(const void* data, std::size_t n) {
  std::uint64_t h = 0xcbf29ce484222325ull;
  for (std::size_t i = 0; i < n; ++i) h = (h ^ static_cast<const std::uint8_t*>(data)[i]) * 0x100000001b3ull;
  return h;
}

struct Case {
  Format format;
  std::uint32_t seed_plus;      // the type's number in GGUF files
  std::array<float, 4> values;  // elements 0, 17, last of the first block, 1 of the second
  std::uint64_t all;            // FNV-1a of both blocks' values, little-endian f32
};

const Case kCases[] = {
    {Format::q4_0, 2, {0x1.998p-7f, 0x1.332p-5f, 0x1.665p-4f, 0x1.8p+0f}, 0xa5f42f7586cf6c9aull},
    {Format::q4_1, 3, {-0x1.99ap-2f, -0x1.c004p-2f, -0x1.8cd4p-2f, 0x1.68f5cp+3f}, 0xd4fe5d747e2a3c05ull},
    {Format::q5_0, 6, {-0x1.1988p-3f, -0x1.998p-3f, 0.0f, -0x1.8p+0f}, 0xb8afd3fadc685f71ull},
    {Format::q5_1, 7, {-0x1.99cp-3f, -0x1.19a8p-2f, -0x1.334p-2f, 0x1.b1eb8p+2f}, 0xdf3520f87dc9b55cull},
    {Format::q8_0, 8, {0x1.ffep-5f, 0x1.332p-3f, 0x1.ccbp-2f, 0x1.11p+6f}, 0x531ef282cb80afceull},
    {Format::iq4_nl, 20, {0x1.531ep-1f, -0x1.1988p-2f, -0x1.3986p-1f, 0x1.c8p+4f}, 0x882d73e98a8eb1f0ull},
    {Format::q2_k, 10, {0x1.332p-4f, 0x1.dccbp+2f, 0x1.bff4p-1f, -0x1.eb8p-3f}, 0xdacf8ef8441cefe7ull},
    {Format::q3_k, 11, {-0x1.e648p-3f, 0x1.0cbcp-1f, -0x1.998p-6f, -0x1.ep+4f}, 0x73b7976f6fa53a93ull},
    {Format::q4_k, 12, {0x1.effa8p+4f, 0x1.9fff8p+4f, 0x1.9afe5p+4f, 0x1.7c29p+1f}, 0x0ba6bb0ed30dbc45ull},
    {Format::q5_k, 13, {0x1.effb8p+4f, 0x1.c4cbp+4f, 0x1.65ca7p+4f, 0x1.6147cp+5f}, 0x23f9e26aded2c793ull},
    {Format::q6_k, 14, {0x1.fcadp+1f, -0x1.7fe8p-1f, -0x1.21babp+4f, 0x1.c8p+4f}, 0x2470e6287a9396aeull},
    {Format::iq4_xs, 23, {0x1.8b1a8p+2f, -0x1.0e558p+4f, -0x1.3c52ap+3f, 0.0f}, 0x84799d8f5b965db8ull},
    {Format::mxfp4, 39, {-0x1.8p-6f, 0x1.8p-7f, 0x1.8p-6f, -0x1p-127f}, 0x7cbb86e683168b61ull},
};

// Where the f16 scales of a block stand, so that random bytes there do not become NaN.
std::vector<std::size_t> scale_bytes(Format f) {
  switch (f) {
    case Format::q4_1:
    case Format::q5_1:
    case Format::q4_k:
    case Format::q5_k:
      return {0, 2};
    case Format::q2_k:
      return {80, 82};
    case Format::q3_k:
      return {108};
    case Format::q6_k:
      return {208};
    case Format::mxfp4:
      return {};
    default:
      return {0};
  }
}

TEST(Format, BlocksHaveTheValuesOfTheGgufPackage) {
  const float scales[2][2] = {{0.0125f, -0.5f}, {0.75f, 0.03f}};
  for (const Case& c : kCases) {
    SCOPED_TRACE(format_info(c.format).name);
    const FormatInfo& info = format_info(c.format);
    const auto block_bytes = static_cast<std::size_t>(info.block_bytes);
    std::vector<std::uint8_t> blocks = lcg_bytes(2 * block_bytes, 12345 + c.seed_plus);
    for (std::size_t i = 0; i < 2; ++i) {
      const std::vector<std::size_t> at = scale_bytes(c.format);
      for (std::size_t k = 0; k < at.size(); ++k) {
        const std::uint16_t d = f32_to_f16(scales[i][k]);
        std::memcpy(blocks.data() + i * block_bytes + at[k], &d, 2);
      }
      if (c.format == Format::mxfp4) blocks[i * block_bytes] = i == 0 ? 120 : 1;
    }
    std::vector<float> y(static_cast<std::size_t>(2 * info.block_elems));
    info.dequantize(reinterpret_cast<const std::byte*>(blocks.data()), 2 * info.block_elems, y.data());
    const auto n = static_cast<std::size_t>(info.block_elems);
    EXPECT_THAT((std::array{y[0], y[17], y[n - 1], y[n + 1]}),
                ElementsAre(c.values[0], c.values[1], c.values[2], c.values[3]));
    EXPECT_EQ(fnv(y.data(), y.size() * 4), c.all);
  }
}

TEST(Format, QuantizedBlocksAreThoseOfTheGgufPackage) {
  struct Quantized {
    Format format;
    std::size_t bytes;
    std::uint64_t all;
  };
  const Quantized cases[] = {
      {Format::bf16, 192, 0x09aa24cafc9da917ull}, {Format::q4_0, 54, 0x9ba69a4f6c929f7full},
      {Format::q4_1, 60, 0xc082c9e4dce4cc22ull},  {Format::q5_0, 66, 0x4d667f123bd0579eull},
      {Format::q5_1, 72, 0x3afda82084cec50cull},  {Format::q8_0, 102, 0x6f0df794c370c8d0ull},
      {Format::mxfp4, 51, 0x7e707ae89f7d5171ull},
  };
  std::vector<float> x;
  for (std::uint8_t b : lcg_bytes(64, 7)) x.push_back((static_cast<float>(b) - 128) / 64 * 0.3f);
  x.resize(96, 0.0f);
  for (const Quantized& c : cases) {
    SCOPED_TRACE(format_info(c.format).name);
    std::vector<std::byte> q(static_cast<std::size_t>(format_bytes(c.format, 96)));
    ASSERT_EQ(q.size(), c.bytes);
    format_info(c.format).quantize(x.data(), 96, q.data());
    EXPECT_EQ(fnv(q.data(), q.size()), c.all);
  }
}

// What comes back is within half a step of the block; for formats whose scales are themselves rounded, within a bit more.
TEST(Format, QuantizeThenDequantizeIsNear) {
  Rng rng(5);
  std::vector<float> x(1024);
  for (float& v : x) v = static_cast<float>(rng.normal());
  const auto worst = [&](Format f) {
    std::vector<std::byte> q(static_cast<std::size_t>(format_bytes(f, 1024)));
    std::vector<float> y(1024);
    format_info(f).quantize(x.data(), 1024, q.data());
    format_info(f).dequantize(q.data(), 1024, y.data());
    float w = 0;
    for (std::size_t i = 0; i < x.size(); ++i) w = std::max(w, std::fabs(x[i] - y[i]));
    return w;
  };
  EXPECT_EQ(worst(Format::f32), 0);
  EXPECT_EQ(worst(Format::f64), 0);
  EXPECT_LT(worst(Format::f16), 0x1p-10);
  EXPECT_LT(worst(Format::bf16), 0x1p-7);
  EXPECT_LT(worst(Format::f8_e4m3), 0.126);
  EXPECT_LT(worst(Format::q8_0), 0.02);
  EXPECT_LT(worst(Format::q6_k), 0.12);
  EXPECT_LT(worst(Format::q5_k), 0.16);
  EXPECT_LT(worst(Format::q4_k), 0.3);
}

TEST(Format, NonFiniteInputsDoNotCrashTheQuantizers) {
  std::vector<float> x(256, 1.0f);
  x[3] = NAN;
  x[40] = INFINITY;
  x[90] = -INFINITY;
  for (int f = 0; f < kNumFormats; ++f) {
    const FormatInfo& info = format_info(static_cast<Format>(f));
    if (info.quantize == nullptr) continue;
    std::vector<std::byte> q(static_cast<std::size_t>(format_bytes(info.format, 256)));
    info.quantize(x.data(), 256, q.data());
  }
}

TEST(Format, KScalesGoRound) {
  std::array<ScaleMin, 8> in{};
  for (std::uint8_t s = 0; s < 8; ++s)
    in[s] = {static_cast<std::uint8_t>(7 * s + 3), static_cast<std::uint8_t>(63 - 5 * s)};
  std::uint8_t packed[12];
  pack_k_scale_min(in.data(), packed);
  for (int s = 0; s < 8; ++s) {
    EXPECT_EQ(k_scale_min(packed, s).scale, in[static_cast<std::size_t>(s)].scale);
    EXPECT_EQ(k_scale_min(packed, s).min, in[static_cast<std::size_t>(s)].min);
  }
}

TEST(Format, Table) {
  EXPECT_EQ(format_info(Format::q4_k).name, "q4_k");
  EXPECT_EQ(format_bytes(Format::q6_k, 512), 420);
  EXPECT_EQ(format_bytes(Format::bf16, 3), 6);
  EXPECT_EQ(format_info(Format::i64).dequantize, nullptr);
  EXPECT_FALSE(format_info(Format::boolean).is_float_weight);
}

}  // namespace
}  // namespace hearth
