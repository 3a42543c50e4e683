// delta_step — one row of the gated delta rule on n ≤ 64 columns of one head's state.
//
//   S ← e^g S ;  u = beta (v − Sᵀ k) ;  S ← S + k uᵀ ;  y = Sᵀ q          S [dk, n], row i at state + i · stride
//
// Cost      S is read twice (the second time from the first-level cache) and written once.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/math.h"

namespace hearth {
namespace {

template <int C>  // groups of 16 columns; the last may have fewer
HEARTH_INLINE void delta_columns(float* y, float* state, std::int64_t stride, const float* q, const float* k,
                                 const float* v, const F& decay, float beta, std::int64_t dk, std::int64_t n) {
  F read[C], u[C], out[C];
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) read[c] = out[c] = zero();
  for (std::int64_t i = 0; i < dk; ++i) {
    const F ki = set1(k[i]);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) read[c] = fma(load(state + i * stride + 16 * c, n - 16 * c) * decay, ki, read[c]);
  }
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) u[c] = set1(beta) * (load(v + 16 * c, n - 16 * c) - read[c]);
  for (std::int64_t i = 0; i < dk; ++i) {
    const F ki = set1(k[i]), qi = set1(q[i]);
#pragma GCC unroll 4
    for (int c = 0; c < C; ++c) {
      float* at = state + i * stride + 16 * c;
      const F s = fma(ki, u[c], load(at, n - 16 * c) * decay);
      store(at, s, n - 16 * c);
      out[c] = fma(s, qi, out[c]);
    }
  }
#pragma GCC unroll 4
  for (int c = 0; c < C; ++c) store(y + 16 * c, out[c], n - 16 * c);
}

void delta_step(float* y, float* state, std::int64_t stride, const float* q, const float* k, const float* v, float g,
                float beta, std::int64_t dk, std::int64_t n) {
  const F decay = exp(set1(g));
  if (n == 64) return delta_columns<4>(y, state, stride, q, k, v, decay, beta, dk, 64);
  for (std::int64_t c = 0; c < n; c += 16)
    delta_columns<1>(y + c, state + c, stride, q, k, v + c, decay, beta, dk, n - c < 16 ? n - c : 16);
}

}  // namespace
}  // namespace hearth
