#include "tensor/float16.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

namespace hearth {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Float16, F16Literals) {
  EXPECT_EQ(f16_to_f32(0x3c00), 1.0f);
  EXPECT_EQ(f16_to_f32(0xc000), -2.0f);
  EXPECT_EQ(f16_to_f32(0x7bff), 65504.0f);
  EXPECT_EQ(f16_to_f32(0x0400), 0x1p-14f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0x03ff), 1023 * 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0x7c00), kInf);
  EXPECT_EQ(f16_to_f32(0xfc00), -kInf);
  EXPECT_TRUE(std::isnan(f16_to_f32(0x7e01)));
  EXPECT_TRUE(std::signbit(f16_to_f32(0x8000)));
}

TEST(Float16, F16RoundsToNearestEven) {
  EXPECT_EQ(f32_to_f16(1.0f), 0x3c00);
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3c00);      // tie, even below
  EXPECT_EQ(f32_to_f16(1.0f + 3 * 0x1p-11f), 0x3c02);  // tie, even above
  EXPECT_EQ(f32_to_f16(std::nextafter(1.0f + 0x1p-11f, 2.0f)), 0x3c01);
  EXPECT_EQ(f32_to_f16(65519.996f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-kInf), 0xfc00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);  // tie between 0 and the smallest
  EXPECT_EQ(f32_to_f16(3 * 0x1p-25f), 0x0002);
  EXPECT_EQ(f32_to_f16(-0x1p-24f), 0x8001);
  EXPECT_EQ(f32_to_f16(0x1p-14f - 0x1p-26f), 0x0400);  // rounds up into the normal numbers
  EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(kNaN))));
}

TEST(Float16, EveryF16AndBf16GoesRound) {
  for (std::uint32_t i = 0; i < 0x10000; ++i) {
    const auto v = static_cast<std::uint16_t>(i);
    if (!std::isnan(f16_to_f32(v))) {
      ASSERT_EQ(f32_to_f16(f16_to_f32(v)), v);
    } else {
      ASSERT_TRUE(std::isnan(f16_to_f32(f32_to_f16(f16_to_f32(v)))));
    }
    if (!std::isnan(bf16_to_f32(v))) {
      ASSERT_EQ(f32_to_bf16(bf16_to_f32(v)), v);
    } else {
      ASSERT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(bf16_to_f32(v)))));
    }
  }
}

TEST(Float16, Bf16RoundsToNearestEven) {
  EXPECT_EQ(f32_to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(f32_to_bf16(kInf), 0x7f80);
  // A NaN whose payload is only in the low half would become infinity by plain truncation.
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));
}

TEST(Float16, E4m3) {
  EXPECT_EQ(e4m3_to_f32(0x38), 1.0f);
  EXPECT_EQ(e4m3_to_f32(0x7e), 448.0f);
  EXPECT_EQ(e4m3_to_f32(0x01), 0x1p-9f);
  EXPECT_EQ(e4m3_to_f32(0x88), -0x1p-6f);
  EXPECT_TRUE(std::isnan(e4m3_to_f32(0x7f)));
  EXPECT_TRUE(std::isnan(e4m3_to_f32(0xff)));
  EXPECT_EQ(f32_to_e4m3(1000.0f), 0x7e);
  EXPECT_EQ(f32_to_e4m3(-kInf), 0xfe);
  EXPECT_EQ(f32_to_e4m3(0x1p-10f), 0x00);  // tie with zero
  EXPECT_EQ(f32_to_e4m3(3 * 0x1p-10f), 0x02);
  EXPECT_EQ(f32_to_e4m3(432.0f), 0x7e);  // tie between 416 (odd) and 448 (even)
  EXPECT_EQ(f32_to_e4m3(kNaN) & 0x7f, 0x7f);
  for (std::uint32_t i = 0; i < 256; ++i) {
    const auto v = static_cast<std::uint8_t>(i);
    if ((i & 0x7f) != 0x7f) {
      ASSERT_EQ(f32_to_e4m3(e4m3_to_f32(v)), v);
    }
  }
}

}  // namespace
}  // namespace hearth
