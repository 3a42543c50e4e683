// fp8_block128.h — block-128 FP8: an E4M3 matrix with one multiplier a 128 × 128 block.
//
//   y[n, k] = e4m3(q[n, k]) · scales[n / 128, k / 128]
//
// Shapes    q [N, K] row-major; scales [⌈N/128⌉, ⌈K/128⌉] row-major, f32. The last row and column of blocks may be ragged.
// Dtypes    one rounding a number, in f32.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

inline constexpr std::int64_t kFp8Block = 128;

inline std::int64_t fp8_blocks(std::int64_t n) { return (n + kFp8Block - 1) / kFp8Block; }

// out [N, K].
void dequantize_fp8_block128(const std::byte* q, const float* scales, std::int64_t rows, std::int64_t cols, float* out);

// The reverse, for tests: each block's largest magnitude goes to 448; a block of zeros has scale 1.
void quantize_fp8_block128(const float* in, std::int64_t rows, std::int64_t cols, std::byte* q, float* scales);

}  // namespace hearth
