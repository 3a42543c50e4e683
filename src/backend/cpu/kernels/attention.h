// attention — online softmax of queries over one block of at most 64 positions, all of one KV head.
//
//   s_j = scale · q·k_j ;  m' = max(m, max_j s_j) ;  p_j = e^(s_j − m')
//   l ← l · e^(m − m') + Σ_j p_j ;  acc ← acc · e^(m − m') + Σ_j p_j v_j
//
// Order     blocks begin at multiples of 64 positions, so what a query computes depends on its own position only: not on
//           how many queries share a call.
// Sums      a score is a sum of lanes, added in a fixed tree for four positions at once.
// Cost      a block of k and v is read once for all queries of the call, from the first-level cache.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/math.h"
#include "backend/cpu/kernels/rowwise.h"

namespace hearth {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();

// e^x, and 0 where that is below 1e-35: a weight that no sum can show, while products with subnormal numbers take the
// processor a hundred times as long.
HEARTH_INLINE F exp_or_zero(const F& x) {
  F e = exp(x);
  HEARTH_PARTS e.v[i_] = x.v[i_] < native_set1(-80.0f) ? NativeF{} : e.v[i_];
  return e;
}
HEARTH_INLINE float exp1(float x) {
  float e[16];
  store(e, exp_or_zero(set1(x)));
  return e[0];
}

// Registers hold the queries of kTogether heads or rows beside the sums of four positions.
#if defined(__AVX512F__)
constexpr int kTogether = 2;
#else
constexpr int kTogether = 1;
#endif

// p[n][j] = scale · q_n·k_j for j < count, −inf for the rest of the block. W: sixteenths of the width; 0: any width.
template <int W, int Q>
HEARTH_INLINE void attend_scores(const AttendQuery* queries, std::int64_t count, const float* const* k,
                                 std::int64_t width, float scale, float (*p)[kAttendBlock]) {
  F q[Q][W > 0 ? W : 1];
  if constexpr (W > 0) {
#pragma GCC unroll 2
    for (int n = 0; n < Q; ++n)
#pragma GCC unroll 16
      for (int c = 0; c < W; ++c) q[n][c] = load(queries[n].q + 16 * c);
  }
  const F lane_scale = set1(scale);
  for (std::int64_t j0 = 0; j0 < kAttendBlock; j0 += 16) {
    if (j0 >= count) {
      for (int n = 0; n < Q; ++n) store(p[n] + j0, set1(kMinusInfinity));
      continue;
    }
    Quad quads[Q][4];
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
      F acc[Q][4];
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const std::int64_t at = j0 + 4 * i + j;
        const float* kj = k[at < count ? at : count - 1];
#pragma GCC unroll 2
        for (int n = 0; n < Q; ++n) acc[n][j] = zero();
        if constexpr (W > 0) {
#pragma GCC unroll 16
          for (int c = 0; c < W; ++c) {
            const F kc = load(kj + 16 * c);
#pragma GCC unroll 2
            for (int n = 0; n < Q; ++n) acc[n][j] = fma(q[n][c], kc, acc[n][j]);
          }
        } else {
          for (int n = 0; n < Q; ++n)
            each16(width, [&](std::int64_t c, std::int64_t lanes) {
              acc[n][j] = fma(load(queries[n].q + c, lanes), load(kj + c, lanes), acc[n][j]);
            });
        }
      }
#pragma GCC unroll 2
      for (int n = 0; n < Q; ++n) quads[n][i] = sum_lanes(acc[n]);
    }
#pragma GCC unroll 2
    for (int n = 0; n < Q; ++n) {
      store(p[n] + j0, join(quads[n]) * lane_scale);
      for (std::int64_t j = count; j < j0 + 16; ++j) p[n][j] = kMinusInfinity;
    }
  }
}

// p ← e^(p − m'), and the running m and l; returns the factor for acc.
HEARTH_INLINE float attend_softmax(float* p, float* ml) {
  F s[4] = {load(p), load(p + 16), load(p + 32), load(p + 48)};
  const float m0 = ml[0];
  const float block_max = max_lane(max(max(s[0], s[1]), max(s[2], s[3])));
  const float m = block_max > m0 ? block_max : m0;
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    s[j] = exp_or_zero(s[j] - set1(m));
    store(p + 16 * j, s[j]);
  }
  const float keep = exp1(m0 - m);
  ml[0] = m;
  ml[1] = ml[1] * keep + sum((s[0] + s[1]) + (s[2] + s[3]));
  return keep;
}

// acc_n ← acc_n · keep_n + Σ_j p_n[j] v_j
template <int W, int Q>
HEARTH_INLINE void attend_values(const AttendQuery* queries, std::int64_t count, const float* const* v,
                                 std::int64_t width, const float* keep, const float (*p)[kAttendBlock]) {
  constexpr int C = W > 0 ? W : 1;
  for (std::int64_t c0 = 0; c0 < width; c0 += 16 * C) {
    F acc[Q][C];
#pragma GCC unroll 2
    for (int n = 0; n < Q; ++n)
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) acc[n][c] = load(queries[n].acc + c0 + 16 * c) * set1(keep[n]);
    for (std::int64_t j = 0; j < count; ++j) {
      F pj[Q];
#pragma GCC unroll 2
      for (int n = 0; n < Q; ++n) pj[n] = set1(p[n][j]);
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) {
        const F vc = W > 0 ? load(v[j] + 16 * c) : load(v[j] + c0, width - c0);
#pragma GCC unroll 2
        for (int n = 0; n < Q; ++n) acc[n][c] = fma(pj[n], vc, acc[n][c]);
      }
    }
#pragma GCC unroll 2
    for (int n = 0; n < Q; ++n)
#pragma GCC unroll 16
      for (int c = 0; c < C; ++c) store(queries[n].acc + c0 + 16 * c, acc[n][c]);
  }
}

template <int W, int Q>
void attend_queries(const AttendQuery* queries, const float* const* k, const float* const* v, std::int64_t width,
                    float scale) {
  float p[Q][kAttendBlock], keep[Q];
  const std::int64_t count = queries[0].count;
  attend_scores<W, Q>(queries, count, k, width, scale, p);
  for (int n = 0; n < Q; ++n) keep[n] = attend_softmax(p[n], queries[n].ml);
  attend_values<W, Q>(queries, count, v, width, keep, p);
}

template <int W, int Q>
HEARTH_INLINE void attend_width(const AttendQuery* queries, std::int64_t num_queries, const float* const* k,
                                const float* const* v, std::int64_t width, float scale) {
  for (std::int64_t n = 0; n < num_queries;) {
    if (queries[n].count <= 0) {
      ++n;
    } else if (Q > 1 && n + Q <= num_queries && queries[n].count == queries[n + Q - 1].count) {
      attend_queries<W, Q>(queries + n, k, v, width, scale);
      n += Q;
    } else {
      attend_queries<W, 1>(queries + n, k, v, width, scale);
      ++n;
    }
  }
}

void attend(const AttendQuery* queries, std::int64_t num_queries, const float* const* k, const float* const* v,
            std::int64_t width, float scale) {
  switch (width) {
    case 64:
      return attend_width<4, kTogether>(queries, num_queries, k, v, width, scale);
    case 128:
      return attend_width<8, kTogether>(queries, num_queries, k, v, width, scale);
    case 256:
      return attend_width<16, 1>(queries, num_queries, k, v, width, scale);
    default:
      return attend_width<0, 1>(queries, num_queries, k, v, width, scale);
  }
}

void attend_merge(float* acc, float* ml, const float* acc2, const float* ml2, std::int64_t width) {
  const float m = ml2[0] > ml[0] ? ml2[0] : ml[0];
  const float keep = exp1(ml[0] - m), join = exp1(ml2[0] - m);
  ml[0] = m;
  ml[1] = ml[1] * keep + ml2[1] * join;
  for (std::int64_t i = 0; i < width; i += 16)
    store(acc + i, fma(load(acc + i), set1(keep), load(acc2 + i) * set1(join)));
}

void attend_finish(float* out, const float* acc, const float* ml, std::int64_t width) {
  const F inverse = set1(1.0f / ml[1]);
  each16(width, [&](std::int64_t i, std::int64_t lanes) { store(out + i, load(acc + i) * inverse, lanes); });
}

}  // namespace
}  // namespace hearth
