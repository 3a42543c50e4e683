// attention — online softmax of queries over one block of at most 64 positions, all of one KV head.
//
//   s_j = scale · q·k_j ;  m' = max(m, max_j s_j) ;  p_j = e^(s_j − m')
//   l ← l · e^(m − m') + Σ_j p_j ;  acc ← acc · e^(m − m') + Σ_j p_j v_j
//
// Order     blocks begin at multiples of 64 positions, so what a query computes depends on its own position only: not on
//           how many queries share a call.
// Cost      a block of k and v is read once for all queries of the call, from the first-level cache.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/math.h"
#include "backend/cpu/kernels/rowwise.h"

namespace hearth {
namespace {

constexpr float kMinusInfinity = -__builtin_inff();

HEARTH_INLINE float exp1(float x) {
  float e[16];
  store(e, exp(set1(x)));
  return e[0];
}

HEARTH_INLINE F dot_lanes(const float* q, const float* k, std::int64_t width) {
  F acc = zero();
  each16(width, [&](std::int64_t i, std::int64_t lanes) { acc = fma(load(q + i, lanes), load(k + i, lanes), acc); });
  return acc;
}

// s[j] = scale · q·k_j for j < count, −inf for the rest of the block.
HEARTH_INLINE void attend_scores(const AttendQuery& query, const float* const* k, std::int64_t width, float scale, float* s) {
  for (std::int64_t j = 0; j < kAttendBlock; ++j)
    s[j] = j < query.count ? scale * sum(dot_lanes(query.q, k[j], width)) : kMinusInfinity;
}

void attend(const AttendQuery* queries, std::int64_t num_queries, const float* const* k, const float* const* v,
            std::int64_t width, float scale) {
  for (std::int64_t n = 0; n < num_queries; ++n) {
    const AttendQuery& query = queries[n];
    if (query.count <= 0) continue;
    float p[kAttendBlock];
    attend_scores(query, k, width, scale, p);
    F s[4] = {load(p), load(p + 16), load(p + 32), load(p + 48)};
    const float m0 = query.ml[0];
    const float block_max = max_lane(max(max(s[0], s[1]), max(s[2], s[3])));
    const float m = block_max > m0 ? block_max : m0;
    for (int j = 0; j < 4; ++j) {
      s[j] = exp(s[j] - set1(m));
      store(p + 16 * j, s[j]);
    }
    const float keep = m0 == kMinusInfinity ? 0.0f : exp1(m0 - m);
    query.ml[0] = m;
    query.ml[1] = query.ml[1] * keep + sum((s[0] + s[1]) + (s[2] + s[3]));
    const std::int64_t count = query.count < kAttendBlock ? query.count : kAttendBlock;
    for (std::int64_t i = 0; i < width; i += 16) {
      F acc = load(query.acc + i) * set1(keep);
      for (std::int64_t j = 0; j < count; ++j) acc = fma(set1(p[j]), load(v[j] + i, width - i), acc);
      store(query.acc + i, acc);
    }
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
