// format.h — how numbers are stored: every element and block format that a checkpoint or a tensor may have.
//
// A block format packs block_elems numbers of one row into block_bytes; a plain format has block_elems = 1.
// Rows are never split over blocks' borders: a row of K numbers takes K / block_elems blocks, K a multiple of block_elems.
// Block-128 FP8 is f8_e4m3 with a separate grid of scales (fp8_block128.h).
//
// Source    ggml block layouts as restated in docs/models/gguf.md; OCP FP8 and MX specifications.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace hearth {

enum class Format : std::uint8_t {
  f32,
  f16,
  bf16,
  f64,
  f8_e4m3,
  f8_e5m2,
  i8,
  u8,
  i16,
  u16,
  i32,
  u32,
  i64,
  u64,
  boolean,
  q4_0,
  q4_1,
  q5_0,
  q5_1,
  q8_0,
  q2_k,
  q3_k,
  q4_k,
  q5_k,
  q6_k,
  iq4_nl,
  iq4_xs,
  mxfp4,
};
inline constexpr int kNumFormats = static_cast<int>(Format::mxfp4) + 1;

struct FormatInfo {
  Format format;
  std::string_view name;  // "bf16", "q4_k"
  int block_elems;
  int block_bytes;
  bool is_float_weight;  // has dequantize (floating point or a block format; integers have none)
  // n numbers (a multiple of block_elems) from blocks; exact in float. Null when not is_float_weight.
  void (*dequantize)(const std::byte* blocks, std::int64_t n, float* out);
  // The reverse, round to nearest, for tests and for writing checkpoints; null where we never write the format.
  void (*quantize)(const float* in, std::int64_t n, std::byte* blocks);
};

const FormatInfo& format_info(Format format);

// Bytes of n numbers; n must be a multiple of block_elems.
inline std::int64_t format_bytes(Format format, std::int64_t n) {
  const FormatInfo& f = format_info(format);
  return n / f.block_elems * f.block_bytes;
}

}  // namespace hearth
