// math.h — exponential and sigmoid of sixteen lanes: the same polynomial for whole vectors and for tails.
#pragma once

#include "backend/cpu/kernels/simd.h"

namespace hearth {
namespace {

// e^x within 1.5 ulp; 0 below −103.98, infinity above 88.73, NaN for NaN.
//   n = round(x / ln 2), r = x − n ln 2, e^x = 2^n · Σ_{k ≤ 7} r^k / k!   (|r| ≤ 0.347: the rest is below 6e-9)
HEARTH_INLINE F exp(const F& x) {
  F n, c;
  I e;
  HEARTH_PARTS {
    const NativeF lo = native_set1(-110.0f), hi = native_set1(100.0f);
    const NativeF magic = native_set1(12582912.0f);  // 1.5 · 2^23: adding it leaves the nearest integer in the low bits
    NativeF a = x.v[i_] < lo ? lo : x.v[i_];
    a = a > hi ? hi : a;
    const NativeF r = a * native_set1(1.44269504f) + magic;
    c.v[i_] = a;
    n.v[i_] = r - magic;
    e.v[i_] = (NativeI)r - (NativeI)magic;
  }
  c = fma(n, set1(-0.693145751953125f), c);       // 15 bits of ln 2: exact for |n| < 512
  c = fma(n, set1(-1.42860682030941723e-6f), c);  // and the rest
  F p = set1(1.0f / 5040);
  p = fma(p, c, set1(1.0f / 720));
  p = fma(p, c, set1(1.0f / 120));
  p = fma(p, c, set1(1.0f / 24));
  p = fma(p, c, set1(1.0f / 6));
  p = fma(p, c, set1(0.5f));
  p = fma(p, c, set1(1.0f));
  p = fma(p, c, set1(1.0f));
  // 2^n in two factors, so that subnormal results and the step to infinity come out of the multiplication.
  HEARTH_PARTS {
    const NativeI half = e.v[i_] >> 1;
    const NativeF s0 = (NativeF)((half + 127) << 23), s1 = (NativeF)((e.v[i_] - half + 127) << 23);
    p.v[i_] = p.v[i_] * s0 * s1;
  }
  return p;
}

HEARTH_INLINE F sigmoid(const F& x) { return set1(1.0f) / (set1(1.0f) + exp(zero() - x)); }
HEARTH_INLINE F silu(const F& x) { return x / (set1(1.0f) + exp(zero() - x)); }

}  // namespace
}  // namespace hearth
