#include "engine/row_math.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace hearth {
namespace {

// GCC's vector extension: eight lanes everywhere, in whatever registers the function's target has.
using F8 = float __attribute__((vector_size(32)));
using I8 = std::int32_t __attribute__((vector_size(32)));
using D8 = double __attribute__((vector_size(64)));
constexpr std::size_t kLanes = 8;
constexpr float kInf = std::numeric_limits<float>::infinity();

#define HEARTH_INLINE [[gnu::always_inline]] inline

HEARTH_INLINE F8 load(const float* p) {
  F8 v;
  std::memcpy(&v, p, sizeof v);
  return v;
}

// exp(t) for t <= 0: t = n·ln2 + r, |r| <= ln2 / 2; e^r by its Taylor polynomial; 2^n by the exponent bits.
template <class F, class I>
HEARTH_INLINE F exp_lanes(F t, I) {
  const F low = t < -87.0f ? F{} - 87.0f : t;
  const F n = (low * 1.44269504f + 12582912.0f) - 12582912.0f;  // adding 1.5·2^23 rounds to the nearest integer
  const F r = (low - n * 0.693359375f) + n * 2.12194440e-4f;    // ln2 in two parts
  F p = F{} + 1.98412698e-4f;
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const I exponent = (__builtin_convertvector(n, I) + 127) << 23;
  F scale;
  std::memcpy(&scale, &exponent, sizeof scale);
  return t < -87.0f ? F{} : p * scale;
}

HEARTH_INLINE F8 exp8(F8 t) { return exp_lanes(t, I8{}); }

HEARTH_INLINE double fold(D8 v) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }

HEARTH_INLINE RowScan scan_body(const float* x, std::size_t n) {
  F8 best = F8{} - kInf;
  I8 bad{};
  const std::int32_t exponent = 0x7f800000;
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const F8 v = load(x + i);
    best = v > best ? v : best;
    I8 bits;
    std::memcpy(&bits, &v, sizeof bits);
    bad |= (bits & exponent) == exponent;
  }
  RowScan scan;
  scan.max = -kInf;
  for (std::size_t j = 0; j < kLanes; ++j) {
    scan.max = best[j] > scan.max ? best[j] : scan.max;
    if (bad[j] != 0) scan.finite = false;
  }
  for (; i < n; ++i) {
    scan.max = x[i] > scan.max ? x[i] : scan.max;
    if (!std::isfinite(x[i])) scan.finite = false;
  }
  std::size_t at = 0;
  for (; at + kLanes <= n; at += kLanes) {
    const I8 hit = load(x + at) == scan.max;
    std::int32_t any = 0;
    for (std::size_t j = 0; j < kLanes; ++j) any |= hit[j];
    if (any != 0) break;
  }
  while (at < n && !(x[at] == scan.max)) ++at;
  scan.argmax = static_cast<std::int32_t>(at < n ? at : 0);
  return scan;
}

HEARTH_INLINE double sum_body(const float* x, std::size_t n, float max) {
  D8 sum{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) sum += __builtin_convertvector(exp8(load(x + i) - max), D8);
  if (i < n) {
    float tail[kLanes];
    for (std::size_t j = 0; j < kLanes; ++j) tail[j] = i + j < n ? x[i + j] : -kInf;
    sum += __builtin_convertvector(exp8(load(tail) - max), D8);
  }
  return fold(sum);
}

HEARTH_INLINE double chunks_body(const float* x, std::size_t n, float max, double* sums) {
  double total = 0;
  for (std::size_t i = 0; i < n; i += kSumChunk) {
    const double sum = sum_body(x + i, std::min<std::size_t>(kSumChunk, n - i), max);
    *sums++ = sum;
    total += sum;
  }
  return total;
}

HEARTH_INLINE double candidates_body(const Candidate* c, std::size_t n, float max, float* weights) {
  double total = 0;
  for (std::size_t i = 0; i < n; i += kLanes) {
    float lanes[kLanes];
    const std::size_t here = std::min(kLanes, n - i);
    for (std::size_t j = 0; j < kLanes; ++j) lanes[j] = j < here ? c[i + j].logit - max : -kInf;
    const F8 v = exp8(load(lanes));
    for (std::size_t j = 0; j < here; ++j) {
      weights[i + j] = v[j];
      total += static_cast<double>(v[j]);
    }
  }
  return total;
}

HEARTH_INLINE void divide_body(float* x, std::size_t n, float divisor) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const F8 v = load(x + i) / divisor;
    std::memcpy(x + i, &v, sizeof v);
  }
  for (; i < n; ++i) x[i] /= divisor;
}

HEARTH_INLINE std::int32_t rank_body(const float* x, std::size_t n, std::size_t index) {
  const float value = x[index];
  I8 count{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) count -= load(x + i) > value;  // true is −1
  std::int32_t rank = 1;
  for (std::size_t j = 0; j < kLanes; ++j) rank += count[j];
  for (; i < n; ++i) rank += x[i] > value ? 1 : 0;
  I8 ties{};
  for (i = 0; i + kLanes <= index; i += kLanes) ties -= load(x + i) == value;
  for (std::size_t j = 0; j < kLanes; ++j) rank += ties[j];
  for (; i < index; ++i) rank += x[i] == value ? 1 : 0;
  return rank;
}

// Calls take(i) for each index in order whose number is above limit(), eight at a time.
template <class Limit, class Take>
HEARTH_INLINE void visit_above(const float* x, std::size_t n, Limit limit, Take take) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    const I8 hit = load(x + i) > limit();
    std::int64_t words[4];
    std::memcpy(words, &hit, sizeof words);
    if (((words[0] | words[1]) | (words[2] | words[3])) == 0) continue;
    for (std::size_t j = 0; j < kLanes; ++j)
      if (x[i + j] > limit()) take(i + j);
  }
  for (; i < n; ++i)
    if (x[i] > limit()) take(i);
}

HEARTH_INLINE void at_least_body(const float* x, std::size_t n, float threshold, std::vector<Candidate>& out) {
  // x >= threshold is x > the float below it.
  const float limit = threshold == -kInf ? -kInf : std::nextafter(threshold, -kInf);
  visit_above(
      x, n, [&] { return limit; },
      [&](std::size_t i) {
        out.push_back({x[i], static_cast<std::int32_t>(i)});
      });
}

HEARTH_INLINE void top_k_body(const float* x, std::size_t n, std::size_t k, std::vector<Candidate>& out) {
  float limit = -kInf;
  const std::size_t room = 2 * k + 64;
  auto shrink = [&] {
    std::nth_element(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(k) - 1, out.end(), better);
    out.resize(k);
    limit = out[k - 1].logit;  // later ids lose a tie with it
  };
  visit_above(
      x, n, [&] { return limit; },
      [&](std::size_t i) {
        out.push_back({x[i], static_cast<std::int32_t>(i)});
        if (out.size() >= room) shrink();
      });
  if (out.size() > k) shrink();
}

// Each body twice on x86: for the baseline and for AVX2.
#if defined(__x86_64__)
bool has_avx2() {
  static const bool has = __builtin_cpu_supports("avx2") != 0;
  return has;
}
#define HEARTH_TWICE(result, name, body, params, args)                    \
  [[gnu::target("avx2")]] result name##_avx2 params { return body args; } \
  result name##_base params { return body args; }                         \
  result name params { return has_avx2() ? name##_avx2 args : name##_base args; }
#else
#define HEARTH_TWICE(result, name, body, params, args) \
  result name params { return body args; }
#endif

HEARTH_TWICE(RowScan, do_scan, scan_body, (const float* x, std::size_t n), (x, n))
HEARTH_TWICE(double, do_sum, sum_body, (const float* x, std::size_t n, float max), (x, n, max))
HEARTH_TWICE(double, do_chunks, chunks_body, (const float* x, std::size_t n, float max, double* sums),
             (x, n, max, sums))
HEARTH_TWICE(double, do_candidates, candidates_body, (const Candidate* c, std::size_t n, float max, float* w),
             (c, n, max, w))
HEARTH_TWICE(void, do_divide, divide_body, (float* x, std::size_t n, float d), (x, n, d))
HEARTH_TWICE(std::int32_t, do_rank, rank_body, (const float* x, std::size_t n, std::size_t index), (x, n, index))
HEARTH_TWICE(void, do_at_least, at_least_body, (const float* x, std::size_t n, float t, std::vector<Candidate>& out),
             (x, n, t, out))
HEARTH_TWICE(void, do_top_k, top_k_body, (const float* x, std::size_t n, std::size_t k, std::vector<Candidate>& out),
             (x, n, k, out))

}  // namespace

RowScan scan_row(std::span<const float> row) { return do_scan(row.data(), row.size()); }

double sum_exp(std::span<const float> row, float max) { return do_sum(row.data(), row.size(), max); }

double sum_exp_chunks(std::span<const float> row, float max, std::vector<double>& sums) {
  sums.resize((row.size() + kSumChunk - 1) / kSumChunk);
  return do_chunks(row.data(), row.size(), max, sums.data());
}

float exp_one(float x) {
  float lanes[kLanes] = {x};
  const F8 v = exp8(load(lanes));
  return v[0];
}

double exp_candidates(std::span<const Candidate> candidates, float max, std::span<float> weights) {
  return do_candidates(candidates.data(), candidates.size(), max, weights.data());
}

void divide_row(std::span<float> row, float divisor) { do_divide(row.data(), row.size(), divisor); }

std::int32_t rank_in_row(std::span<const float> row, std::int32_t index) {
  return do_rank(row.data(), row.size(), static_cast<std::size_t>(index));
}

void gather_at_least(std::span<const float> row, float threshold, std::vector<Candidate>& out) {
  out.clear();
  do_at_least(row.data(), row.size(), threshold, out);
}

void gather_top_k(std::span<const float> row, std::int32_t k, std::vector<Candidate>& out) {
  out.clear();
  if (k > 0) do_top_k(row.data(), row.size(), static_cast<std::size_t>(k), out);
}

}  // namespace hearth
