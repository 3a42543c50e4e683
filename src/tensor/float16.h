// float16.h — the short floating-point formats, one number at a time: f16, bf16 and FP8 E4M3 from and to f32.
//
//   f16   1 sign, 5 exponent (bias 15), 10 mantissa bits; infinities and NaN
//   bf16  the upper half of an f32
//   e4m3  1 sign, 4 exponent (bias 7), 3 mantissa bits; no infinities, 0x7F and 0xFF are NaN, largest value 448
//
// Widening is exact. Narrowing rounds to nearest, ties to even, and keeps NaN; f16 and bf16 overflow to infinity,
// e4m3 saturates at ±448 (infinities too).
//
// Source    IEEE 754-2019; OCP 8-bit Floating Point Specification 1.0.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace hearth {

constexpr float bf16_to_f32(std::uint16_t b) { return std::bit_cast<float>(static_cast<std::uint32_t>(b) << 16); }

constexpr std::uint16_t f32_to_bf16(float f) {
  const std::uint32_t x = std::bit_cast<std::uint32_t>(f);
  if ((x & 0x7fffffffu) > 0x7f800000u)
    return static_cast<std::uint16_t>((x >> 16) | 0x40u);  // quiet; not rounded to inf
  return static_cast<std::uint16_t>((x + 0x7fffu + ((x >> 16) & 1u)) >> 16);
}

constexpr float f16_to_f32(std::uint16_t h) {
  const std::uint32_t sign = static_cast<std::uint32_t>(h & 0x8000u) << 16;
  const std::uint32_t rest = static_cast<std::uint32_t>(h & 0x7fffu) << 13;  // exponent and mantissa where f32 has them
  std::uint32_t bits = 0;
  if (rest >= (31u << 23)) {
    bits = rest + (224u << 23);  // exponent 31 → 255
  } else if (rest >= (1u << 23)) {
    bits = rest + (112u << 23);  // bias 15 → 127
  } else {
    // Subnormal: with exponent 113 the value is 2^-14 + mantissa · 2^-24; the subtraction is exact.
    bits = std::bit_cast<std::uint32_t>(std::bit_cast<float>(rest + (113u << 23)) - 0x1p-14f);
  }
  return std::bit_cast<float>(sign | bits);
}

constexpr std::uint16_t f32_to_f16(float f) {
  const std::uint32_t x = std::bit_cast<std::uint32_t>(f);
  const std::uint32_t sign = (x >> 16) & 0x8000u;
  std::uint32_t a = x & 0x7fffffffu;
  if (a > 0x7f800000u) {
    a = 0x7e00u | ((a >> 13) & 0x1ffu);
  } else if (a >= 0x477ff000u) {  // 65520, half way between 65504 and the 65536 that f16 lacks
    a = 0x7c00u;
  } else if (a < 0x38800000u) {  // below 2^-14: one ulp of 0.5 is 2^-24, so the addition rounds as a subnormal does
    a = std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + 0.5f) - 0x3f000000u;
  } else {
    a = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | a);
}

namespace float16_detail {
constexpr float e4m3_value(std::uint32_t v) {
  const std::uint32_t sign = (v & 0x80u) << 24;
  const std::uint32_t a = v & 0x7fu;
  if (a == 0x7fu) return std::bit_cast<float>(sign | 0x7fc00000u);
  const float magnitude = a < 8 ? static_cast<float>(a) * 0x1p-9f : std::bit_cast<float>((a << 20) + (120u << 23));
  return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(magnitude));
}
constexpr std::array<float, 256> e4m3_table() {
  std::array<float, 256> t{};
  for (std::uint32_t i = 0; i < 256; ++i) t[i] = e4m3_value(i);
  return t;
}
}  // namespace float16_detail

// The value of each E4M3 byte.
inline constexpr std::array<float, 256> kE4m3Values = float16_detail::e4m3_table();

constexpr float e4m3_to_f32(std::uint8_t v) { return kE4m3Values[v]; }

constexpr std::uint8_t f32_to_e4m3(float f) {
  const std::uint32_t x = std::bit_cast<std::uint32_t>(f);
  const std::uint32_t sign = (x >> 24) & 0x80u;
  std::uint32_t a = x & 0x7fffffffu;
  if (a > 0x7f800000u) {
    a = 0x7fu;
  } else if (a >= 0x43e00000u) {  // 448
    a = 0x7eu;
  } else if (a < 0x3c800000u) {  // below 2^-6: one ulp of 2^14 is 2^-9, the step of the subnormals
    a = std::bit_cast<std::uint32_t>(std::bit_cast<float>(a) + 0x1p14f) - 0x46800000u;
  } else {
    a = (a - (120u << 23) + 0x7ffffu + ((a >> 20) & 1u)) >> 20;
  }
  return static_cast<std::uint8_t>(sign | a);
}

}  // namespace hearth
