// FP8 against the fixtures in tests/golden/kernels (here, where the reader of their files is).
#include <cmath>

#include <gtest/gtest.h>

#include "checkpoint/safetensors.h"
#include "quant/fp8_block128.h"
#include "quant/fp8_group128.h"
#include "tensor/float16.h"

namespace hearth {
namespace {

const std::string kKernels = std::string(HEARTH_GOLDEN) + "/kernels/";

TEST(Fp8Fixtures, EveryByteAndEveryRounding) {
  const SafetensorsFile f(kKernels + "fp8_e4m3_tables.safetensors");
  const std::vector<float> decode = f.read_f32("decode");
  ASSERT_EQ(decode.size(), 256u);
  for (std::size_t i = 0; i < 256; ++i) {
    const float got = e4m3_to_f32(static_cast<std::uint8_t>(i));
    if (std::isnan(decode[i]))
      EXPECT_TRUE(std::isnan(got)) << i;
    else
      EXPECT_EQ(std::bit_cast<std::uint32_t>(got), std::bit_cast<std::uint32_t>(decode[i])) << i;
  }
  const std::vector<float> input = f.read_f32("encode_input");
  const std::vector<std::int64_t> expected = f.read_i64("encode_saturating");
  ASSERT_EQ(input.size(), expected.size());
  for (std::size_t i = 0; i < input.size(); ++i) {
    const std::uint8_t got = f32_to_e4m3(input[i]);
    if (std::isnan(input[i]))
      EXPECT_EQ(got & 0x7f, 0x7f);
    else
      EXPECT_EQ(got, expected[i]) << input[i];
  }
}

TEST(Fp8Fixtures, BlockDequantWithRaggedBlocks) {
  const SafetensorsFile f(kKernels + "fp8_block_dequant.safetensors");
  for (const std::string name : {"130x140", "64x300", "3x5"}) {
    const SafetensorsEntry& q = f.at(name + ".q");
    const std::vector<std::byte> bytes = f.read_bytes(q.name);
    const std::vector<float> scales = f.read_f32(name + ".scale");
    std::vector<float> y(bytes.size());
    dequantize_fp8_block128(bytes.data(), scales.data(), q.shape[0], q.shape[1], y.data());
    if (const SafetensorsEntry* e = f.find(name + ".expected")) {
      const std::vector<float> expected = f.read_f32(e->name);
      for (std::size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], expected[i]) << name << " " << i;
    } else {
      std::vector<double> sums(static_cast<std::size_t>(q.shape[0]));
      f.read(f.at(name + ".expected_row_sums_fp64"), std::as_writable_bytes(std::span(sums)));
      for (std::size_t r = 0; r < sums.size(); ++r) {
        double sum = 0;
        const auto cols = static_cast<std::size_t>(q.shape[1]);
        for (std::size_t c = 0; c < cols; ++c) sum += static_cast<double>(y[r * cols + c]);
        ASSERT_NEAR(sum, sums[r], 1e-6 * (1 + std::fabs(sums[r]))) << name << " row " << r;
      }
    }
  }
}

TEST(Fp8Fixtures, GroupsOfActivations) {
  const SafetensorsFile f(kKernels + "fp8_group_quant.safetensors");
  for (const std::string name : {"full", "ragged"}) {
    const std::vector<float> x = f.read_f32(name + ".x"), scale = f.read_f32(name + ".scale");
    const std::vector<std::byte> q = f.read_bytes(name + ".q");
    const std::int64_t rows = f.at(name + ".x").shape[0], cols = f.at(name + ".x").shape[1], groups = fp8_blocks(cols);
    ASSERT_EQ(static_cast<std::int64_t>(scale.size()), rows * groups);
    std::vector<std::byte> got(q.size());
    std::vector<float> got_scale(scale.size()), back(x.size());
    for (std::int64_t r = 0; r < rows; ++r) {
      quantize_fp8_group128(x.data() + r * cols, cols, got.data() + r * cols, got_scale.data() + r * groups);
      dequantize_fp8_group128(got.data() + r * cols, got_scale.data() + r * groups, cols, back.data() + r * cols);
    }
    EXPECT_EQ(got, q) << name;
    EXPECT_EQ(got_scale, scale) << name;
    for (std::size_t i = 0; i < x.size(); ++i) {  // half a step of three bits, or of the smallest number
      const float s = scale[i / static_cast<std::size_t>(cols) * static_cast<std::size_t>(groups) +
                            i % static_cast<std::size_t>(cols) / 128];
      ASSERT_NEAR(back[i], x[i], std::max(std::fabs(x[i]) / 16, s * 0x1p-10f) * 1.0001f) << name << " " << i;
    }
  }
}

TEST(Fp8Fixtures, QuantizedMatrixComesBack) {
  const std::int64_t rows = 130, cols = 140;
  std::vector<float> x(static_cast<std::size_t>(rows * cols));
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i));
  std::vector<std::byte> q(x.size());
  std::vector<float> scales(static_cast<std::size_t>(fp8_blocks(rows) * fp8_blocks(cols)));
  quantize_fp8_block128(x.data(), rows, cols, q.data(), scales.data());
  std::vector<float> y(x.size());
  dequantize_fp8_block128(q.data(), scales.data(), rows, cols, y.data());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(y[i], x[i], 0.04) << i;  // half a step of 1/16 below 1
}

}  // namespace
}  // namespace hearth
