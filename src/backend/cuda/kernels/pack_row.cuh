// pack_row.cuh — 128 numbers of a row into the forms that products take (kernels/matrix.h), by one warp, four numbers a lane.
#pragma once

#include "backend/cuda/kernels/common.cuh"
#include "backend/cuda/kernels/matrix.h"

namespace hearth::cuda {

// Word w of a packed row.
__host__ __device__ inline std::int64_t row_word(std::int64_t w) {
  const std::int64_t pair = w / 16, half = w / 8 % 2, word = w % 8;
  return pair * 16 + word % 4 * 4 + half * 2 + word / 4;
}

// Numbers 4 · lane … of group `group`, quantised with the group's scale; what is beyond the row's end is zero.
__device__ inline void pack_fp8(const float (&v)[4], std::int64_t group, std::uint8_t* row, float* scales) {
  const int lane = threadIdx.x % 32;
  float top = 1e-10f;
#pragma unroll
  for (int j = 0; j < 4; ++j) top = fmaxf(top, fabsf(v[j]));
  const float scale = warp_max(top) / 448.0f;
  std::uint32_t word = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j)
    word |= static_cast<std::uint32_t>(__nv_cvt_float_to_fp8(v[j] / scale, __NV_SATFINITE, __NV_E4M3)) << (8 * j);
  reinterpret_cast<std::uint32_t*>(row)[row_word(group * 32 + lane)] = word;
  if (lane == 0) scales[group] = scale;
}

__device__ inline void pack_bf16(const float (&v)[4], std::int64_t group, std::uint8_t* row) {
  const int lane = threadIdx.x % 32;
  auto* words = reinterpret_cast<__nv_bfloat162*>(row);
  words[row_word(group * 64 + 2 * lane)] = __floats2bfloat162_rn(v[0], v[1]);
  words[row_word(group * 64 + 2 * lane + 1)] = __floats2bfloat162_rn(v[2], v[3]);
}

}  // namespace hearth::cuda
