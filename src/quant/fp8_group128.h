// fp8_group128.h — FP8 activations: a row of numbers as E4M3 with one scale a group of 128.
//
//   scale[g] = max(largest magnitude of the group, 1e-10) / 448
//   q[i]     = e4m3(x[i] / scale[i / 128])       nearest, ties to the even code, at most ±448
//
// Shapes    x, q [K]; scales [⌈K/128⌉]. The last group may be short.
// Dtypes    f32 in; the division is an f32 division, so codes are those of the common GPU kernels bit for bit.
// Errors    none; a NaN becomes the NaN code, an infinity makes its group's scale infinite and its numbers NaN.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth {

void quantize_fp8_group128(const float* x, std::int64_t cols, std::byte* q, float* scales);

// out[i] = e4m3(q[i]) · scales[i / 128], rounded once.
void dequantize_fp8_group128(const std::byte* q, const float* scales, std::int64_t cols, float* out);

}  // namespace hearth
