// float_gemm — matrices of f32, f16, bf16 and FP8: weights are widened to f32 in registers, activations are f32.
//
//   out[r][i] = Σ_k W[i][k] · x[r][k]        k ascending, one chain of fused multiply-adds per output
//   FP8:        Σ_c scale[c] · ( Σ_{k in c} W[i][k] · x[r][k] ), c the blocks of 128 columns
//
// Cost      one row: the bytes of the matrix. Many rows: each weight is widened once per kRows rows.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/simd.h"

namespace hearth {
namespace {

// Rows and panels of one tile: as many sums as the registers hold beside the weights.
#if defined(__AVX512F__)
constexpr int kFloatRows = 8, kFloatPanels = 2;
#elif defined(__AVX2__)
constexpr int kFloatRows = 4, kFloatPanels = 1;
#else
constexpr int kFloatRows = 2, kFloatPanels = 1;
#endif

// How far ahead of one row's product memory is asked for: 16 GB/s times a latency of 150 ns is 2.4 kB, and measured on the
// 2-core AVX-512 machine 1.5 kB gave 12.2 GB/s a core, 4 kB 14.3, 6 kB 12.4.
constexpr int kAhead = 4096;

// Each layout: kStep columns of a panel in kBytes bytes.
struct F32Panel {
  static constexpr int kStep = 1, kBytes = 64;
  static constexpr bool kScaled = false;
  static HEARTH_INLINE void widen(const std::byte* p, F* w) { w[0] = load(reinterpret_cast<const float*>(p)); }
};
struct F16Panel {
  static constexpr int kStep = 2, kBytes = 64;
  static constexpr bool kScaled = false;
  static HEARTH_INLINE void widen(const std::byte* p, F* w) {
    w[0] = load_f16(reinterpret_cast<const std::uint16_t*>(p));
    w[1] = load_f16(reinterpret_cast<const std::uint16_t*>(p) + 16);
  }
};
// A lane holds two columns: the even one in its low half.
struct Bf16Panel {
  static constexpr int kStep = 2, kBytes = 64;
  static constexpr bool kScaled = false;
  static HEARTH_INLINE void widen(const std::byte* p, F* w) {
    const B b = load_bytes(p);
    w[0] = as_float(shift_mask<-16>(b, 0xffffffffu));
    w[1] = as_float(shift_mask<0>(b, 0xffff0000u));
  }
};
// E4M3 as 2^-8 times an f16 with the same sign, exponent and mantissa bits; the scales carry the 2^8. Sixteen 16-bit lanes
// hold columns 0 (low byte) and 1, sixteen more columns 2 and 3.
struct F8Panel {
  static constexpr int kStep = 4, kBytes = 64;
  static constexpr bool kScaled = true;
#if defined(__AVX512F__)
  static HEARTH_INLINE void widen(const std::byte* p, F* w) {
    const __m512i v = _mm512_loadu_si512(p), keep = _mm512_set1_epi16(static_cast<short>(0xbf80));
    const __m512i even = _mm512_and_si512(_mm512_srai_epi16(_mm512_slli_epi16(v, 8), 1), keep);
    const __m512i odd = _mm512_and_si512(_mm512_srai_epi16(v, 1), keep);
    w[0].v[0] = (NativeF)_mm512_cvtph_ps(_mm512_castsi512_si256(even));
    w[1].v[0] = (NativeF)_mm512_cvtph_ps(_mm512_castsi512_si256(odd));
    w[2].v[0] = (NativeF)_mm512_cvtph_ps(_mm512_extracti64x4_epi64(even, 1));
    w[3].v[0] = (NativeF)_mm512_cvtph_ps(_mm512_extracti64x4_epi64(odd, 1));
  }
#elif defined(__AVX2__)
  static HEARTH_INLINE void widen(const std::byte* p, F* w) {
    const __m256i keep = _mm256_set1_epi16(static_cast<short>(0xbf80));
#pragma GCC unroll 2
    for (int i = 0; i < 2; ++i) {
      const __m256i v = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32 * i));
      const __m256i even = _mm256_and_si256(_mm256_srai_epi16(_mm256_slli_epi16(v, 8), 1), keep);
      const __m256i odd = _mm256_and_si256(_mm256_srai_epi16(v, 1), keep);
      w[2 * i].v[0] = (NativeF)_mm256_cvtph_ps(_mm256_castsi256_si128(even));
      w[2 * i].v[1] = (NativeF)_mm256_cvtph_ps(_mm256_extracti128_si256(even, 1));
      w[2 * i + 1].v[0] = (NativeF)_mm256_cvtph_ps(_mm256_castsi256_si128(odd));
      w[2 * i + 1].v[1] = (NativeF)_mm256_cvtph_ps(_mm256_extracti128_si256(odd, 1));
    }
  }
#else
  static HEARTH_INLINE void widen(const std::byte* p, F* w) {
    const auto* u = reinterpret_cast<const std::uint16_t*>(p);
    std::uint16_t h[4][16];
    for (int i = 0; i < 32; ++i) {
      h[i / 16 * 2][i % 16] = static_cast<std::uint16_t>((static_cast<std::int16_t>(u[i] << 8) >> 1) & 0xbf80);
      h[i / 16 * 2 + 1][i % 16] = static_cast<std::uint16_t>((static_cast<std::int16_t>(u[i]) >> 1) & 0xbf80);
    }
    for (int j = 0; j < 4; ++j) w[j] = load_f16(h[j]);
  }
#endif
};

template <class L, int P, int R>
HEARTH_INLINE void float_columns(const std::byte* const* panel, const float* const* x, std::int64_t k0, std::int64_t k1,
                                 bool first, F (&acc)[P][R]) {
  constexpr int S = L::kStep;
  std::int64_t k = k0;
  for (; k + S <= k1; k += S) {
    F w[P][S];
#pragma GCC unroll 4
    for (int p = 0; p < P; ++p) {
      const std::byte* at = panel[p] + k / S * L::kBytes;
      if (first) prefetch(at + kAhead / P);
      L::widen(at, w[p]);
    }
#pragma GCC unroll 4
    for (int j = 0; j < S; ++j)
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) {
        const F xr = set1(x[r][k + j]);
#pragma GCC unroll 4
        for (int p = 0; p < P; ++p) acc[p][r] = fma(w[p][j], xr, acc[p][r]);
      }
  }
  if (k < k1) {
    for (int p = 0; p < P; ++p) {
      F w[S];
      L::widen(panel[p] + k / S * L::kBytes, w);
      for (int j = 0; j < k1 - k; ++j)
        for (int r = 0; r < R; ++r) acc[p][r] = fma(w[j], set1(x[r][k + j]), acc[p][r]);
    }
  }
}

// acc[p][r] ← bias of panel p0 + p, or zero.
template <int P, int R>
HEARTH_INLINE void store_tile(const GemmArgs& a, std::int64_t p0, std::int64_t r0, const F (&acc)[P][R]) {
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p) {
    const std::int64_t row = (p0 + p) * kPanelRows;
    const std::int64_t lanes = a.n - row;
    const F bias = a.bias != nullptr ? load(a.bias + row, lanes) : zero();
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) store(a.out[r0 + r] + row, a.bias != nullptr ? acc[p][r] + bias : acc[p][r], lanes);
  }
}

template <class L, int P, int R>
void float_tile(const GemmArgs& a, std::int64_t p0, std::int64_t r0) {
  const std::byte* panel[P];
  const float* x[R];
  for (int p = 0; p < P; ++p) panel[p] = a.panels + static_cast<std::size_t>(p0 + p) * a.panel_bytes;
  for (int r = 0; r < R; ++r) x[r] = static_cast<const float*>(a.x[r0 + r]);
  const bool first = r0 == 0;  // later rows find the panels in the cache
  F acc[P][R];
#pragma GCC unroll 4
  for (int p = 0; p < P; ++p)
#pragma GCC unroll 16
    for (int r = 0; r < R; ++r) acc[p][r] = zero();
  if constexpr (!L::kScaled) {
    float_columns<L, P, R>(panel, x, 0, a.k, first, acc);
  } else {
    const std::int64_t blocks = (a.k + kScaleBlock - 1) / kScaleBlock;
    for (std::int64_t b = 0; b < blocks; ++b) {
      F part[P][R];
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p)
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) part[p][r] = zero();
      const std::int64_t end = (b + 1) * kScaleBlock < a.k ? (b + 1) * kScaleBlock : a.k;
      float_columns<L, P, R>(panel, x, b * kScaleBlock, end, first, part);
#pragma GCC unroll 4
      for (int p = 0; p < P; ++p) {
        const float* s = a.scales + ((p0 + p) * blocks + b) * a.scale_lanes;
        const F scale = a.scale_lanes == 1 ? set1(*s) : load(s);
#pragma GCC unroll 16
        for (int r = 0; r < R; ++r) acc[p][r] = fma(part[p][r], scale, acc[p][r]);
      }
    }
  }
  store_tile<P, R>(a, p0, r0, acc);
}

template <class L, int P, int R>
HEARTH_INLINE void float_rows(const GemmArgs& a, std::int64_t p, std::int64_t r) {
  for (; r + R <= a.rows; r += R) float_tile<L, P, R>(a, p, r);
  if constexpr (R > 1) {
    if (r < a.rows) float_rows<L, P, R / 2>(a, p, r);
  }
}

template <class L>
void float_gemm(const GemmArgs& a) {
  constexpr int P = kFloatPanels;
  constexpr int R = L::kScaled ? (kFloatRows + 1) / 2 : kFloatRows;  // twice the sums
  std::int64_t p = a.p0;
  for (; p + P <= a.p1; p += P) float_rows<L, P, R>(a, p, 0);
  if constexpr (P > 1) {
    for (; p < a.p1; ++p) float_rows<L, 1, R>(a, p, 0);
  }
}

}  // namespace
}  // namespace hearth
