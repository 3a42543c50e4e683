#include "quant/block_scales.h"

#include <cstring>

#include "quant/blocks.h"

namespace hearth {
namespace {

struct ScalePlace {
  std::size_t offset = 0;
  int count = 0;  // f16 numbers, one after the other
};

ScalePlace scale_place(Format format) {
  switch (format) {
    case Format::q4_0:
      return {offsetof(BlockQ4_0, d), 1};
    case Format::q4_1:
      return {offsetof(BlockQ4_1, d), 2};
    case Format::q5_0:
      return {offsetof(BlockQ5_0, d), 1};
    case Format::q5_1:
      return {offsetof(BlockQ5_1, d), 2};
    case Format::q8_0:
      return {offsetof(BlockQ8_0, d), 1};
    case Format::q2_k:
      return {offsetof(BlockQ2K, d), 2};
    case Format::q3_k:
      return {offsetof(BlockQ3K, d), 1};
    case Format::q4_k:
      return {offsetof(BlockQ4K, d), 2};
    case Format::q5_k:
      return {offsetof(BlockQ5K, d), 2};
    case Format::q6_k:
      return {offsetof(BlockQ6K, d), 1};
    case Format::iq4_nl:
      return {offsetof(BlockIq4Nl, d), 1};
    case Format::iq4_xs:
      return {offsetof(BlockIq4Xs, d), 1};
    default:
      return {};
  }
}

bool is_finite_f16(const std::byte* at) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, at, sizeof bits);
  return (bits & 0x7c00) != 0x7c00;
}

}  // namespace

std::int64_t find_bad_scale(Format format, std::span<const std::byte> blocks) {
  const ScalePlace place = scale_place(format);
  if (place.count == 0) return -1;
  const auto block_bytes = static_cast<std::size_t>(format_info(format).block_bytes);
  const std::size_t last = place.count == 2 ? 2 : 0;
  for (std::size_t at = 0; at + block_bytes <= blocks.size(); at += block_bytes) {
    const std::byte* scale = blocks.data() + at + place.offset;
    if (!is_finite_f16(scale) || !is_finite_f16(scale + last)) return static_cast<std::int64_t>(at / block_bytes);
  }
  return -1;
}

}  // namespace hearth
