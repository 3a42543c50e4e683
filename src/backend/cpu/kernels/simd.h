// simd.h — sixteen lanes of f32 or i32, and sixteen lanes of four bytes, as the registers of this translation unit: one of
// 512 bits, two of 256, or four of 128.
//
// Everything is in an unnamed namespace and forced inline: a file compiled for AVX-512 leaves no function behind that the
// linker could choose for a caller on an older processor. For the same reason kernels take raw pointers and call nothing
// of the standard library.
//
// Order     sum() adds lanes i and i + 8, then + 4, + 2, + 1, on every instruction set.
#pragma once

#include <cstddef>
#include <cstdint>

#if defined(__x86_64__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

#define HEARTH_INLINE inline __attribute__((always_inline))

namespace hearth {
namespace {

#if defined(__AVX512F__)
constexpr int kWidth = 16;
#elif defined(__AVX2__)
constexpr int kWidth = 8;
#else
constexpr int kWidth = 4;
#endif
constexpr int kParts = 16 / kWidth;

typedef float NativeF __attribute__((vector_size(kWidth * 4)));
typedef std::int32_t NativeI __attribute__((vector_size(kWidth * 4)));
typedef std::uint32_t NativeU __attribute__((vector_size(kWidth * 4)));
typedef std::uint16_t NativeH __attribute__((vector_size(kWidth * 2)));
typedef std::int8_t NativeS8 __attribute__((vector_size(kWidth)));

struct F {
  NativeF v[kParts];
};  // 16 × f32
struct I {
  NativeI v[kParts];
};  // 16 × i32
struct B {
  NativeU v[kParts];
};  // 16 × 4 bytes, byte j of a lane being its j-th

#define HEARTH_PARTS for (int i_ = 0; i_ < kParts; ++i_)

// ---- values --------------------------------------------------------------------------------------------------------

HEARTH_INLINE NativeF native_set1(float x) {
#if defined(__AVX512F__)
  return (NativeF)_mm512_set1_ps(x);
#elif defined(__AVX2__)
  return (NativeF)_mm256_set1_ps(x);
#else
  return NativeF{x, x, x, x};
#endif
}
HEARTH_INLINE NativeI native_set1(std::int32_t x) {
#if defined(__AVX512F__)
  return (NativeI)_mm512_set1_epi32(x);
#elif defined(__AVX2__)
  return (NativeI)_mm256_set1_epi32(x);
#else
  return NativeI{x, x, x, x};
#endif
}
HEARTH_INLINE F set1(float x) {
  F r;
  HEARTH_PARTS r.v[i_] = native_set1(x);
  return r;
}
HEARTH_INLINE I set1(std::int32_t x) {
  I r;
  HEARTH_PARTS r.v[i_] = native_set1(x);
  return r;
}
HEARTH_INLINE F zero() {
  F r;
  HEARTH_PARTS r.v[i_] = NativeF{};
  return r;
}

HEARTH_INLINE F load(const float* p) {
  F r;
  HEARTH_PARTS __builtin_memcpy(&r.v[i_], p + i_ * kWidth, sizeof r.v[i_]);
  return r;
}
HEARTH_INLINE void store(float* p, const F& x) {
  HEARTH_PARTS __builtin_memcpy(p + i_ * kWidth, &x.v[i_], sizeof x.v[i_]);
}
// The first n ≤ 16 lanes; the others read as zero and are not written.
HEARTH_INLINE F load(const float* p, std::int64_t n) {
  if (n >= 16) return load(p);
  float buffer[16] = {};
  for (std::int64_t i = 0; i < n; ++i) buffer[i] = p[i];
  return load(buffer);
}
HEARTH_INLINE void store(float* p, const F& x, std::int64_t n) {
  if (n >= 16) return store(p, x);
  float buffer[16];
  store(buffer, x);
  for (std::int64_t i = 0; i < n; ++i) p[i] = buffer[i];
}
HEARTH_INLINE B load_bytes(const void* p) {
  B r;
  HEARTH_PARTS __builtin_memcpy(&r.v[i_], static_cast<const char*>(p) + i_ * kWidth * 4, sizeof r.v[i_]);
  return r;
}

// ---- arithmetic ------------------------------------------------------------------------------------------------------

HEARTH_INLINE F operator+(const F& a, const F& b) {
  F r;
  HEARTH_PARTS r.v[i_] = a.v[i_] + b.v[i_];
  return r;
}
HEARTH_INLINE F operator-(const F& a, const F& b) {
  F r;
  HEARTH_PARTS r.v[i_] = a.v[i_] - b.v[i_];
  return r;
}
HEARTH_INLINE F operator*(const F& a, const F& b) {
  F r;
  HEARTH_PARTS r.v[i_] = a.v[i_] * b.v[i_];
  return r;
}
HEARTH_INLINE F operator/(const F& a, const F& b) {
  F r;
  HEARTH_PARTS r.v[i_] = a.v[i_] / b.v[i_];
  return r;
}
HEARTH_INLINE I operator+(const I& a, const I& b) {
  I r;
  HEARTH_PARTS r.v[i_] = a.v[i_] + b.v[i_];
  return r;
}
HEARTH_INLINE I operator-(const I& a, const I& b) {
  I r;
  HEARTH_PARTS r.v[i_] = a.v[i_] - b.v[i_];
  return r;
}

// a · b + c, rounded once where the processor can (x86 without FMA rounds twice).
HEARTH_INLINE F fma(const F& a, const F& b, const F& c) {
  F r;
  HEARTH_PARTS {
#if defined(__AVX512F__)
    r.v[i_] = (NativeF)_mm512_fmadd_ps((__m512)a.v[i_], (__m512)b.v[i_], (__m512)c.v[i_]);
#elif defined(__FMA__)
    r.v[i_] = (NativeF)_mm256_fmadd_ps((__m256)a.v[i_], (__m256)b.v[i_], (__m256)c.v[i_]);
#elif defined(__aarch64__)
    r.v[i_] = (NativeF)vfmaq_f32((float32x4_t)c.v[i_], (float32x4_t)a.v[i_], (float32x4_t)b.v[i_]);
#else
    r.v[i_] = a.v[i_] * b.v[i_] + c.v[i_];
#endif
  }
  return r;
}
// a if a > b, else b: a NaN in a is lost, one in b is kept.
HEARTH_INLINE F max(const F& a, const F& b) {
  F r;
  HEARTH_PARTS r.v[i_] = a.v[i_] > b.v[i_] ? a.v[i_] : b.v[i_];
  return r;
}
HEARTH_INLINE F min(const F& a, const F& b) {
  F r;
  HEARTH_PARTS r.v[i_] = a.v[i_] < b.v[i_] ? a.v[i_] : b.v[i_];
  return r;
}
HEARTH_INLINE F abs(const F& a) {
  F r;
  HEARTH_PARTS r.v[i_] = (NativeF)((NativeU)a.v[i_] & 0x7fffffffu);
  return r;
}

HEARTH_INLINE F to_float(const I& a) {
  F r;
  HEARTH_PARTS r.v[i_] = __builtin_convertvector(a.v[i_], NativeF);
  return r;
}

HEARTH_INLINE float sum(const F& a) {
#if defined(__AVX2__)
#if defined(__AVX512F__)
  const __m256 x = _mm256_add_ps(_mm512_castps512_ps256((__m512)a.v[0]),
                                 _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd((__m512)a.v[0]), 1)));
#else
  const __m256 x = _mm256_add_ps((__m256)a.v[0], (__m256)a.v[1]);
#endif
  __m128 y = _mm_add_ps(_mm256_castps256_ps128(x), _mm256_extractf128_ps(x, 1));
  y = _mm_add_ps(y, _mm_movehl_ps(y, y));
  return _mm_cvtss_f32(_mm_add_ss(y, _mm_shuffle_ps(y, y, 1)));
#else
  const NativeF y = (a.v[0] + a.v[2]) + (a.v[1] + a.v[3]);
  return (y[0] + y[2]) + (y[1] + y[3]);
#endif
}
// The lane sums of four vectors, and of sixteen: join() puts the sums of quads 0 … 3 into lanes 0–3, 4–7, 8–11, 12–15.
#if defined(__AVX512F__)
struct Quad {
  __m512 v;
};  // per 128 bits: parts of the four sums
#elif defined(__AVX2__)
struct Quad {
  __m256 v;
};
#else
struct Quad {
  NativeF v;
};  // the four sums
#endif
HEARTH_INLINE Quad sum_lanes(const F* a) {
#if defined(__AVX512F__)
  const __m512 a0 = (__m512)a[0].v[0], a1 = (__m512)a[1].v[0], a2 = (__m512)a[2].v[0], a3 = (__m512)a[3].v[0];
  const __m512 x = _mm512_add_ps(_mm512_unpacklo_ps(a0, a1), _mm512_unpackhi_ps(a0, a1));
  const __m512 y = _mm512_add_ps(_mm512_unpacklo_ps(a2, a3), _mm512_unpackhi_ps(a2, a3));
  const __m512d xd = _mm512_castps_pd(x), yd = _mm512_castps_pd(y);
  return {_mm512_add_ps(_mm512_castpd_ps(_mm512_unpacklo_pd(xd, yd)), _mm512_castpd_ps(_mm512_unpackhi_pd(xd, yd)))};
#elif defined(__AVX2__)
  __m256 h[4];
  for (int i = 0; i < 4; ++i) h[i] = _mm256_add_ps((__m256)a[i].v[0], (__m256)a[i].v[1]);
  const __m256 x = _mm256_add_ps(_mm256_unpacklo_ps(h[0], h[1]), _mm256_unpackhi_ps(h[0], h[1]));
  const __m256 y = _mm256_add_ps(_mm256_unpacklo_ps(h[2], h[3]), _mm256_unpackhi_ps(h[2], h[3]));
  const __m256d xd = _mm256_castps_pd(x), yd = _mm256_castps_pd(y);
  return {_mm256_add_ps(_mm256_castpd_ps(_mm256_unpacklo_pd(xd, yd)), _mm256_castpd_ps(_mm256_unpackhi_pd(xd, yd)))};
#else
  NativeF h[4];
  for (int i = 0; i < 4; ++i) h[i] = (a[i].v[0] + a[i].v[2]) + (a[i].v[1] + a[i].v[3]);
  const NativeF x = __builtin_shufflevector(h[0], h[1], 0, 4, 1, 5) + __builtin_shufflevector(h[0], h[1], 2, 6, 3, 7);
  const NativeF y = __builtin_shufflevector(h[2], h[3], 0, 4, 1, 5) + __builtin_shufflevector(h[2], h[3], 2, 6, 3, 7);
  return {__builtin_shufflevector(x, y, 0, 1, 4, 5) + __builtin_shufflevector(x, y, 2, 3, 6, 7)};
#endif
}
HEARTH_INLINE F join(const Quad* q) {
  F r;
#if defined(__AVX512F__)
  const __m512 x =
      _mm512_add_ps(_mm512_shuffle_f32x4(q[0].v, q[1].v, 0x88), _mm512_shuffle_f32x4(q[0].v, q[1].v, 0xdd));
  const __m512 y =
      _mm512_add_ps(_mm512_shuffle_f32x4(q[2].v, q[3].v, 0x88), _mm512_shuffle_f32x4(q[2].v, q[3].v, 0xdd));
  r.v[0] = (NativeF)_mm512_add_ps(_mm512_shuffle_f32x4(x, y, 0x88), _mm512_shuffle_f32x4(x, y, 0xdd));
#elif defined(__AVX2__)
  for (int i = 0; i < 2; ++i)
    r.v[i] = (NativeF)_mm256_add_ps(_mm256_permute2f128_ps(q[2 * i].v, q[2 * i + 1].v, 0x20),
                                    _mm256_permute2f128_ps(q[2 * i].v, q[2 * i + 1].v, 0x31));
#else
  for (int i = 0; i < 4; ++i) r.v[i] = q[i].v;
#endif
  return r;
}
HEARTH_INLINE float max_lane(const F& a) {
#if defined(__AVX512F__)
  return _mm512_reduce_max_ps((__m512)a.v[0]);
#else
  NativeF m = a.v[0];
  for (int i = 1; i < kParts; ++i) m = m > a.v[i] ? m : a.v[i];
  float r = m[0];
  for (int i = 1; i < kWidth; ++i) r = r > m[i] ? r : m[i];
  return r;
#endif
}
template <int kBits>
HEARTH_INLINE I shift_left(const I& a) {
  I r;
  HEARTH_PARTS r.v[i_] = a.v[i_] << kBits;
  return r;
}
// To the nearest integer, ties to even; |a| < 2^22.
HEARTH_INLINE I round(const F& a) {
  I r;
  HEARTH_PARTS {
    const NativeF magic = native_set1(12582912.0f);  // 1.5 · 2^23: adding it leaves the integer in the low bits
    r.v[i_] = (NativeI)(a.v[i_] + magic) - (NativeI)magic;
  }
  return r;
}
HEARTH_INLINE std::int32_t sum(const I& a) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_epi32((__m512i)a.v[0]);
#else
  NativeI s = a.v[0];
  for (int i = 1; i < kParts; ++i) s += a.v[i];
  std::int32_t r = 0;
  for (int i = 0; i < kWidth; ++i) r += s[i];
  return r;
#endif
}
HEARTH_INLINE void store_i8(std::int8_t* p, const I& a) {  // lanes within −128 … 127
  HEARTH_PARTS {
    const NativeS8 b = __builtin_convertvector(a.v[i_], NativeS8);
    __builtin_memcpy(p + i_ * kWidth, &b, sizeof b);
  }
}

// ---- bytes -----------------------------------------------------------------------------------------------------------

// The bits of each byte that mask has, after shifting the 32-bit lane; what crosses a byte's border must be masked away.
template <int kRight>  // negative: to the left
HEARTH_INLINE B shift_mask(const B& a, std::uint32_t mask) {
  B r;
  HEARTH_PARTS {
    if constexpr (kRight >= 0)
      r.v[i_] = (a.v[i_] >> kRight) & (NativeU)native_set1(static_cast<std::int32_t>(mask));
    else
      r.v[i_] = (a.v[i_] << -kRight) & (NativeU)native_set1(static_cast<std::int32_t>(mask));
  }
  return r;
}
HEARTH_INLINE B operator|(const B& a, const B& b) {
  B r;
  HEARTH_PARTS r.v[i_] = a.v[i_] | b.v[i_];
  return r;
}
HEARTH_INLINE I as_int(const B& a) {
  I r;
  HEARTH_PARTS r.v[i_] = (NativeI)a.v[i_];
  return r;
}
HEARTH_INLINE F as_float(const B& a) {
  F r;
  HEARTH_PARTS r.v[i_] = (NativeF)a.v[i_];
  return r;
}
HEARTH_INLINE I load_i8(const std::int8_t* p) {  // 16 signed bytes
  I r;
  HEARTH_PARTS {
    NativeS8 b;
    __builtin_memcpy(&b, p + i_ * kWidth, sizeof b);
    r.v[i_] = __builtin_convertvector(b, NativeI);
  }
  return r;
}

// acc + Σ_j w[lane][j] · x[j] over the four bytes of each lane; w unsigned, at most 127; x signed bytes, the same four for
// every lane. For w of the full range, dot_bytes8 takes them with 128 added and returns the sum with kBias8 · Σ x too much.
#if defined(__AVX512VNNI__)
constexpr int kBias8 = 128;
HEARTH_INLINE I dot_bytes(const I& acc, const B& w, std::int32_t x4) {
  I r;
  HEARTH_PARTS r.v[i_] = (NativeI)_mm512_dpbusd_epi32((__m512i)acc.v[i_], (__m512i)w.v[i_], _mm512_set1_epi32(x4));
  return r;
}
HEARTH_INLINE I dot_bytes8(const I& acc, const B& w, std::int32_t x4) { return dot_bytes(acc, w, x4); }
#elif defined(__AVX2__)
constexpr int kBias8 = 0;
HEARTH_INLINE I dot_bytes(const I& acc, const B& w, std::int32_t x4) {
  const __m256i x = _mm256_set1_epi32(x4), ones = _mm256_set1_epi16(1);
  I r;
  // 127 · 127 · 2 = 32258: no saturation.
  HEARTH_PARTS r.v[i_] = acc.v[i_] + (NativeI)_mm256_madd_epi16(_mm256_maddubs_epi16((__m256i)w.v[i_], x), ones);
  return r;
}
HEARTH_INLINE I dot_bytes8(const I& acc, const B& w, std::int32_t x4) {
  const __m256i x = _mm256_set1_epi32(x4), ones = _mm256_set1_epi16(1), flip = _mm256_set1_epi8(-128);
  I r;
  HEARTH_PARTS {
    const __m256i s =
        _mm256_xor_si256((__m256i)w.v[i_], flip);  // signed again; |s| ≤ 128, |x| ≤ 127: 32512, no saturation
    const __m256i p = _mm256_maddubs_epi16(_mm256_abs_epi8(s), _mm256_sign_epi8(x, s));
    r.v[i_] = acc.v[i_] + (NativeI)_mm256_madd_epi16(p, ones);
  }
  return r;
}
#else
constexpr int kBias8 = 0;
HEARTH_INLINE NativeI native_dot_signed(NativeU w, std::int32_t x4) {
#if defined(__aarch64__)
  const int8x16_t s = vreinterpretq_s8_u32((uint32x4_t)w), x = vreinterpretq_s8_s32(vdupq_n_s32(x4));
#if defined(__ARM_FEATURE_DOTPROD)
  return (NativeI)vdotq_s32(vdupq_n_s32(0), s, x);
#else
  return (NativeI)vpaddq_s32(vpaddlq_s16(vmull_s8(vget_low_s8(s), vget_low_s8(x))), vpaddlq_s16(vmull_high_s8(s, x)));
#endif
#else
  NativeI r{};
  for (int j = 0; j < 4; ++j)  // byte j of each lane, sign-extended, times byte j of x
    r += ((NativeI)(w << (24 - 8 * j)) >> 24) * static_cast<std::int32_t>(static_cast<std::int8_t>(x4 >> (8 * j)));
  return r;
#endif
}
HEARTH_INLINE I dot_bytes(const I& acc, const B& w, std::int32_t x4) {
  I r;
  HEARTH_PARTS r.v[i_] = acc.v[i_] + native_dot_signed(w.v[i_], x4);
  return r;
}
HEARTH_INLINE I dot_bytes8(const I& acc, const B& w, std::int32_t x4) {
  I r;
  HEARTH_PARTS r.v[i_] = acc.v[i_] + native_dot_signed(w.v[i_] ^ 0x80808080u, x4);
  return r;
}
#endif

// ---- short floating-point formats --------------------------------------------------------------------------------------

HEARTH_INLINE F load_bf16(const std::uint16_t* p) {
  F r;
  HEARTH_PARTS {
    NativeH h;
    __builtin_memcpy(&h, p + i_ * kWidth, sizeof h);
    r.v[i_] = (NativeF)(__builtin_convertvector(h, NativeU) << 16);
  }
  return r;
}
HEARTH_INLINE F load_f16(const std::uint16_t* p) {
  F r;
#if defined(__AVX512F__)
  __m256i h;
  __builtin_memcpy(&h, p, sizeof h);
  r.v[0] = (NativeF)_mm512_cvtph_ps(h);
#elif defined(__F16C__)
  HEARTH_PARTS {
    __m128i h;
    __builtin_memcpy(&h, p + i_ * kWidth, sizeof h);
    r.v[i_] = (NativeF)_mm256_cvtph_ps(h);
  }
#elif defined(__aarch64__)
  HEARTH_PARTS r.v[i_] = (NativeF)vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p + i_ * kWidth)));
#else
  HEARTH_PARTS {
    NativeH h;
    __builtin_memcpy(&h, p + i_ * kWidth, sizeof h);
    const NativeU u = __builtin_convertvector(h, NativeU);
    const NativeU rest = (u & 0x7fffu) << 13;
    const NativeU normal = rest + (112u << 23), special = rest + (224u << 23);
    const NativeU small = (NativeU)((NativeF)(rest + (113u << 23)) - native_set1(0x1p-14f));
    r.v[i_] = (NativeF)(((u & 0x8000u) << 16) | (rest >= (31u << 23) ? special : rest >= (1u << 23) ? normal : small));
  }
#endif
  return r;
}

// Round to nearest even, NaN kept quiet.
HEARTH_INLINE void store_bf16(std::uint16_t* p, const F& x) {
  HEARTH_PARTS {
    const NativeU u = (NativeU)x.v[i_];
    const NativeU rounded = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    const NativeU h = (u & 0x7fffffffu) > 0x7f800000u ? (u >> 16) | 0x40u : rounded;
    const NativeH out = __builtin_convertvector(h, NativeH);
    __builtin_memcpy(p + i_ * kWidth, &out, sizeof out);
  }
}
HEARTH_INLINE void store_f16(std::uint16_t* p, const F& x) {
#if defined(__AVX512F__)
  const __m256i h = _mm512_cvtps_ph((__m512)x.v[0], _MM_FROUND_TO_NEAREST_INT);
  __builtin_memcpy(p, &h, sizeof h);
#elif defined(__F16C__)
  HEARTH_PARTS {
    const __m128i h = _mm256_cvtps_ph((__m256)x.v[i_], _MM_FROUND_TO_NEAREST_INT);
    __builtin_memcpy(p + i_ * kWidth, &h, sizeof h);
  }
#elif defined(__aarch64__)
  HEARTH_PARTS vst1_u16(p + i_ * kWidth, vreinterpret_u16_f16(vcvt_f16_f32((float32x4_t)x.v[i_])));
#else
  HEARTH_PARTS {
    const NativeU u = (NativeU)x.v[i_];
    const NativeU a = u & 0x7fffffffu;
    const NativeU nan = 0x7e00u | ((a >> 13) & 0x1ffu);
    const NativeU small = (NativeU)((NativeF)a + native_set1(0.5f)) - 0x3f000000u;
    const NativeU normal = (a - (112u << 23) + 0xfffu + ((a >> 13) & 1u)) >> 13;
    NativeU h = a < 0x38800000u ? small : normal;
    h = a >= 0x477ff000u ? (NativeU)native_set1(0x7c00) : h;
    h = a > 0x7f800000u ? nan : h;
    const NativeH out = __builtin_convertvector(h | ((u >> 16) & 0x8000u), NativeH);
    __builtin_memcpy(p + i_ * kWidth, &out, sizeof out);
  }
#endif
}

// Into the second-level cache: the first-level buffers are too few to cover the latency of memory.
HEARTH_INLINE void prefetch(const void* p) { __builtin_prefetch(p, 0, 2); }

}  // namespace
}  // namespace hearth
