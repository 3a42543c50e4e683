// quant_gemm — matrices of 4-, 5-, 6- and 8-bit blocks: bytes times bytes with integer sums over 32 (or 16) columns.
//
//   W[i][k] = d · (q − offset) + m,   x[k] ≈ dx · qx    over 32 columns
//   out[i] = Σ_blocks  d · dx · ( Σ q · qx − offset · Σ qx )  +  m · (dx · Σ qx)
//
// Integer sums are exact, so their order is free; blocks are added in ascending order, one chain per output.
//
// Layouts   of one panel's block, 16 rows side by side (f16 × 16 = 32 bytes):
//   q8_0      d, 8 × 64 bytes q + 128: columns 4j … 4j + 3 of each row          q8_f32   the same with f32 d
//   q4_0/1    d (m), 4 × 64 bytes: columns 4j … in the low, 4j + 16 … in the high halves
//   q5_0/1    d (m), 64 bytes of high bits (bit j of byte b: column 4j + b), nibbles
//   q4_k      d, dmin, 3 × 64 bytes of the twelve scale bytes, 8 sub-blocks of nibbles
//   q5_k      the same with high bits before each sub-block's nibbles
//   q6_k      d, 16 × 16 scales, 8 sub-blocks of 128 bytes of two high bits (bits 2j of byte b of word j / 4) and nibbles
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/float_gemm.h"
#include "backend/cpu/kernels/simd.h"

namespace hearth {
namespace {

#if defined(__AVX512F__)
constexpr int kQuantRows = 8;
#elif defined(__AVX2__)
constexpr int kQuantRows = 4;
#else
constexpr int kQuantRows = 2;
#endif

HEARTH_INLINE F load_d(const std::byte* p) { return load_f16(reinterpret_cast<const std::uint16_t*>(p)); }

// w[j], w[j + 4] ← low and high halves of the nibbles.
HEARTH_INLINE void nibbles(const std::byte* p, B* w) {
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const B b = load_bytes(p + 64 * j);
    w[j] = shift_mask<0>(b, 0x0f0f0f0fu);
    w[j + 4] = shift_mask<4>(b, 0x0f0f0f0fu);
  }
}
HEARTH_INLINE void high_bits(const std::byte* p, B* w) {
  const B h = load_bytes(p);
  w[0] = w[0] | shift_mask<-4>(h, 0x10101010u);
  w[1] = w[1] | shift_mask<-3>(h, 0x10101010u);
  w[2] = w[2] | shift_mask<-2>(h, 0x10101010u);
  w[3] = w[3] | shift_mask<-1>(h, 0x10101010u);
  w[4] = w[4] | shift_mask<0>(h, 0x10101010u);
  w[5] = w[5] | shift_mask<1>(h, 0x10101010u);
  w[6] = w[6] | shift_mask<2>(h, 0x10101010u);
  w[7] = w[7] | shift_mask<3>(h, 0x10101010u);
}
HEARTH_INLINE void high_pairs(const std::byte* p, B* w) {
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    const B h = load_bytes(p + 64 * i);
    w[4 * i] = w[4 * i] | shift_mask<-4>(h, 0x30303030u);
    w[4 * i + 1] = w[4 * i + 1] | shift_mask<-2>(h, 0x30303030u);
    w[4 * i + 2] = w[4 * i + 2] | shift_mask<0>(h, 0x30303030u);
    w[4 * i + 3] = w[4 * i + 3] | shift_mask<2>(h, 0x30303030u);
  }
}

template <int kFactor>  // 0 or a power of two
HEARTH_INLINE I times(const I& a) {
  if constexpr (kFactor == 0)
    return set1(0);
  else
    return shift_left<__builtin_ctz(kFactor + (kFactor == 0))>(a);
}

// 32 columns of 16 rows, ready for the inner product.
struct SubBlock {
  B w[8];
  F d[2];  // scale, of either half where they differ
  F m;
};

// Traits: kSubs sub-blocks of 32 columns in kBytes; kOffset; kMin: has m; kHalves: two scales; kBytes8: the full byte range.
template <bool kF32Scale>
struct Q8Panel {
  static constexpr int kSubs = 1, kHead = kF32Scale ? 64 : 32, kSubBytes = 512;
  static constexpr int kOffset = kBias8;
  static constexpr bool kMin = false, kHalves = false, kBytes8 = true;
  struct Head {
    F d;
  };
  static HEARTH_INLINE Head head(const std::byte* p) {
    if constexpr (kF32Scale)
      return {load(reinterpret_cast<const float*>(p))};
    else
      return {load_d(p)};
  }
  static HEARTH_INLINE void sub(Head& h, const std::byte*, const std::byte* p, int, SubBlock& s) {
#pragma GCC unroll 8
    for (int j = 0; j < 8; ++j) s.w[j] = load_bytes(p + 64 * j);
    s.d[0] = h.d;
  }
};

template <bool kWithMin, bool kHigh>
struct Q45Panel {
  static constexpr int kSubs = 1, kHead = kWithMin ? 64 : 32, kSubBytes = kHigh ? 320 : 256;
  static constexpr int kOffset = kWithMin ? 0 : kHigh ? 16 : 8;
  static constexpr bool kMin = kWithMin, kHalves = false, kBytes8 = false;
  struct Head {
    F d, m;
  };
  static HEARTH_INLINE Head head(const std::byte* p) { return {load_d(p), kWithMin ? load_d(p + 32) : zero()}; }
  static HEARTH_INLINE void sub(Head& h, const std::byte*, const std::byte* p, int, SubBlock& s) {
    nibbles(p + (kHigh ? 64 : 0), s.w);
    if constexpr (kHigh) high_bits(p, s.w);
    s.d[0] = h.d;
    if constexpr (kWithMin) s.m = h.m;
  }
};

template <bool kHigh>
struct Q45KPanel {
  static constexpr int kSubs = 8, kHead = 256, kSubBytes = kHigh ? 320 : 256;
  static constexpr int kOffset = 0;
  static constexpr bool kMin = true, kHalves = false, kBytes8 = false;
  struct Head {
    F d, dmin;
    B scale, min;
  };
  static HEARTH_INLINE Head head(const std::byte* p) { return {load_d(p), zero() - load_d(p + 32), {}, {}}; }
  // The twelve bytes of a row hold (low 6 bits) scales 0–3, minima 0–3, and in halves scales and minima 4–7, whose upper two
  // bits are the upper two of the first eight bytes.
  static HEARTH_INLINE void sub(Head& h, const std::byte* head, const std::byte* p, int i, SubBlock& s) {
    if (i == 0) {
      h.scale = shift_mask<0>(load_bytes(head + 64), 0x3f3f3f3fu);
      h.min = shift_mask<0>(load_bytes(head + 128), 0x3f3f3f3fu);
    } else if (i == 4) {
      const B rest = load_bytes(head + 192);
      h.scale = shift_mask<0>(rest, 0x0f0f0f0fu) | shift_mask<2>(load_bytes(head + 64), 0x30303030u);
      h.min = shift_mask<4>(rest, 0x0f0f0f0fu) | shift_mask<2>(load_bytes(head + 128), 0x30303030u);
    }
    nibbles(p + (kHigh ? 64 : 0), s.w);
    if constexpr (kHigh) high_bits(p, s.w);
    s.d[0] = to_float(as_int(shift_mask<0>(h.scale, 0xffu))) * h.d;
    s.m = to_float(as_int(shift_mask<0>(h.min, 0xffu))) * h.dmin;
    h.scale = shift_mask<8>(h.scale, 0xffffffffu);
    h.min = shift_mask<8>(h.min, 0xffffffffu);
  }
};

struct Q6KPanel {
  static constexpr int kSubs = 8, kHead = 288, kSubBytes = 384;
  static constexpr int kOffset = 32;
  static constexpr bool kMin = false, kHalves = true, kBytes8 = false;
  struct Head {
    F d;
  };
  static HEARTH_INLINE Head head(const std::byte* p) { return {load_d(p)}; }
  static HEARTH_INLINE void sub(Head& h, const std::byte* head, const std::byte* p, int i, SubBlock& s) {
    nibbles(p + 128, s.w);
    high_pairs(p, s.w);
    const auto* scales = reinterpret_cast<const std::int8_t*>(head + 32) + 32 * i;
    s.d[0] = to_float(load_i8(scales)) * h.d;
    s.d[1] = to_float(load_i8(scales + 16)) * h.d;
  }
};

template <class L>
HEARTH_INLINE I dot4(const I& acc, const B& w, const std::int8_t* x) {
  std::int32_t x4;
  __builtin_memcpy(&x4, x, sizeof x4);
  if constexpr (L::kBytes8)
    return dot_bytes8(acc, w, x4);
  else
    return dot_bytes(acc, w, x4);
}

// acc ← acc + this sub-block's part of the row.
template <class L>
HEARTH_INLINE F quant_block(const SubBlock& s, const QBlock& x, F acc) {
  I lo = times<L::kOffset>(set1(x.n[0])), hi = times<L::kOffset>(set1(x.n[1]));
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    lo = dot4<L>(lo, s.w[j], x.q + 4 * j);
    hi = dot4<L>(hi, s.w[j + 4], x.q + 16 + 4 * j);
  }
  const F dx = set1(x.d);
  if constexpr (L::kHalves) {
    acc = fma(to_float(lo), s.d[0] * dx, acc);
    acc = fma(to_float(hi), s.d[1] * dx, acc);
  } else {
    acc = fma(to_float(lo + hi), s.d[0] * dx, acc);
  }
  if constexpr (L::kMin) acc = fma(s.m, set1(x.sum), acc);
  return acc;
}

template <class L, int R>
void quant_tile(const GemmArgs& a, std::int64_t p0, std::int64_t r0) {
  constexpr int kBlockBytes = L::kHead + L::kSubs * L::kSubBytes;
  const std::byte* at = a.panels + static_cast<std::size_t>(p0) * a.panel_bytes;
  const QBlock* x[R];
  for (int r = 0; r < R; ++r) x[r] = static_cast<const QBlock*>(a.x[r0 + r]);
  F acc[1][R];
#pragma GCC unroll 16
  for (int r = 0; r < R; ++r) acc[0][r] = zero();
  const std::int64_t blocks = a.k / (32 * L::kSubs);
  const bool first = r0 == 0;  // later rows find the panel in the cache
  std::int64_t b = 0;          // block of 32 columns
  for (std::int64_t i = 0; i < blocks; ++i, at += kBlockBytes) {
    typename L::Head head = L::head(at);
    const std::byte* sub = at + L::kHead;
    for (int j = 0; j < L::kSubs; ++j, ++b, sub += L::kSubBytes) {
      if (first) {
#pragma GCC unroll 9
        for (int c = 0; c < L::kSubBytes + (L::kSubs == 1 ? L::kHead : 0); c += 64) prefetch(sub + kAhead + c);
      }
      SubBlock s;
      L::sub(head, at, sub, j, s);
#pragma GCC unroll 16
      for (int r = 0; r < R; ++r) acc[0][r] = quant_block<L>(s, x[r][b], acc[0][r]);
    }
  }
  store_tile<1, R>(a, p0, r0, acc);
}

template <class L, int R>
HEARTH_INLINE void quant_rows(const GemmArgs& a, std::int64_t p, std::int64_t r) {
  for (; r + R <= a.rows; r += R) quant_tile<L, R>(a, p, r);
  if constexpr (R > 1) {
    if (r < a.rows) quant_rows<L, R / 2>(a, p, r);
  }
}

template <class L>
void quant_gemm(const GemmArgs& a) {
  for (std::int64_t p = a.p0; p < a.p1; ++p) quant_rows<L, kQuantRows>(a, p, 0);
}

// d = largest / 127, q = x / d to the nearest integer. A block with an infinity or a NaN gets d = NaN, so that the row's
// results say so.
void quantize(const float* x, std::int64_t k, QBlock* out) {
  for (std::int64_t b = 0; b < k / 32; ++b, ++out, x += 32) {
    const F lo = load(x), hi = load(x + 16);
    const float largest = max_lane(max(abs(lo), abs(hi)));
    const float poison = sum(fma(lo, zero(), hi * zero()));  // 0 if all are finite, else NaN
    const bool usable = largest > 1e-35f && poison == 0;
    const F inverse = set1(usable ? 127.0f / largest : 0.0f);
    const I q0 = usable ? round(lo * inverse) : set1(0), q1 = usable ? round(hi * inverse) : set1(0);
    store_i8(out->q, q0);
    store_i8(out->q + 16, q1);
    out->n[0] = -sum(q0);
    out->n[1] = -sum(q1);
    out->d = poison == 0 ? (usable ? largest / 127.0f : 0.0f) : poison;
    out->sum = -out->d * static_cast<float>(out->n[0] + out->n[1]);
  }
}

}  // namespace
}  // namespace hearth
