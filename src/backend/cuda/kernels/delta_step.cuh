// delta_step.cuh — one token through one head's state; shared by the step of a decode and by whole prompts, so that a row gets
// the same bits in either.
#pragma once

#include "backend/cuda/kernels/common.cuh"

namespace hearth::cuda {

// A row of n ≤ 32 · kPer numbers in a warp, lane i holding i, i + 32 …: the sum of squares.
template <int kPer>
__device__ inline float row_squares(const float (&v)[kPer]) {
  float squares = 0;
#pragma unroll
  for (int j = 0; j < kPer; ++j) squares = fmaf(v[j], v[j], squares);
  return warp_sum(squares);
}
__device__ inline float rms_factor(float squares, float n, float eps) { return 1.0f / sqrtf(squares / n + eps); }
__device__ inline float l2_factor(float squares, float eps, float scale) { return scale / sqrtf(squares + eps); }

__device__ inline float log_decay(float a, float a_log, float dt_bias) {
  const float x = a + dt_bias;
  return -expf(a_log) * (x > 20 ? x : log1pf(expf(x)));
}

// Four lanes hold a column of S, each kDepth numbers of it, and the same stretch of k and q. Returns y to all four.
template <int kDepth>
__device__ inline float delta_token(float (&S)[kDepth], const float* k, const float* q, float g, float beta, float v) {
  const float decay = expf(g);
  float kt[kDepth], read = 0;
#pragma unroll
  for (int i = 0; i < kDepth / 4; ++i) {
    const float4 k4 = reinterpret_cast<const float4*>(k)[i];
    kt[4 * i] = k4.x, kt[4 * i + 1] = k4.y, kt[4 * i + 2] = k4.z, kt[4 * i + 3] = k4.w;
  }
#pragma unroll
  for (int i = 0; i < kDepth; ++i) {
    S[i] *= decay;
    read = fmaf(S[i], kt[i], read);
  }
  read += __shfl_xor_sync(0xffffffffu, read, 1);
  read += __shfl_xor_sync(0xffffffffu, read, 2);
  const float update = beta * (v - read);
  float y = 0;
#pragma unroll
  for (int i = 0; i < kDepth / 4; ++i) {
    const float4 q4 = reinterpret_cast<const float4*>(q)[i];
    S[4 * i] = fmaf(kt[4 * i], update, S[4 * i]), y = fmaf(S[4 * i], q4.x, y);
    S[4 * i + 1] = fmaf(kt[4 * i + 1], update, S[4 * i + 1]), y = fmaf(S[4 * i + 1], q4.y, y);
    S[4 * i + 2] = fmaf(kt[4 * i + 2], update, S[4 * i + 2]), y = fmaf(S[4 * i + 2], q4.z, y);
    S[4 * i + 3] = fmaf(kt[4 * i + 3], update, S[4 * i + 3]), y = fmaf(S[4 * i + 3], q4.w, y);
  }
  y += __shfl_xor_sync(0xffffffffu, y, 1);
  y += __shfl_xor_sync(0xffffffffu, y, 2);
  return y;
}

__device__ inline float conv_number(const float (&x)[4], const float* w) {
  float y = 0;
#pragma unroll
  for (int j = 0; j < 4; ++j) y = fmaf(w[j], x[j], y);
  return silu(y);
}

}  // namespace hearth::cuda
