// Norms, gates and other operations on one row of numbers. Sums over a row are taken in four chains of sixteen lanes and
// added in a fixed order; they depend on the row's length only.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/math.h"

namespace hearth {
namespace {

HEARTH_INLINE float square_root(float x) {
#if defined(__x86_64__)
  return _mm_cvtss_f32(_mm_sqrt_ss(_mm_set_ss(x)));
#else
  return __builtin_sqrtf(x);
#endif
}

// Calls body(i, lanes) for each 16 numbers of a row.
template <class Body>
HEARTH_INLINE void each16(std::int64_t n, Body body) {
  std::int64_t i = 0;
  for (; i + 16 <= n; i += 16) body(i, std::int64_t{16});
  if (i < n) body(i, n - i);
}

HEARTH_INLINE float sum_of_squares(const float* x, std::int64_t n) {
  F s[4] = {zero(), zero(), zero(), zero()};
  std::int64_t i = 0;
  for (; i + 64 <= n; i += 64)
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) {
      const F v = load(x + i + 16 * j);
      s[j] = fma(v, v, s[j]);
    }
  for (; i < n; i += 16) {
    const F v = load(x + i, n - i);
    s[0] = fma(v, v, s[0]);
  }
  return sum((s[0] + s[1]) + (s[2] + s[3]));
}

void add(float* x, const float* y, std::int64_t n) {
  each16(n, [&](std::int64_t i, std::int64_t lanes) { store(x + i, load(x + i, lanes) + load(y + i, lanes), lanes); });
}

// out = x · (mean(x²) + eps)^-½ · w
void rms_norm(float* out, const float* x, const float* w, std::int64_t n, float eps) {
  const F scale = set1(1.0f / square_root(sum_of_squares(x, n) / static_cast<float>(n) + eps));
  each16(n, [&](std::int64_t i, std::int64_t lanes) {
    store(out + i, load(x + i, lanes) * scale * load(w + i, lanes), lanes);
  });
}

void l2_norm(float* out, const float* x, std::int64_t n, float eps, float scale) {
  const F factor = set1(scale / square_root(sum_of_squares(x, n) + eps));
  each16(n, [&](std::int64_t i, std::int64_t lanes) { store(out + i, load(x + i, lanes) * factor, lanes); });
}

void gated_rms_norm(float* out, const float* x, const float* z, const float* w, std::int64_t n, float eps) {
  const F scale = set1(1.0f / square_root(sum_of_squares(x, n) / static_cast<float>(n) + eps));
  each16(n, [&](std::int64_t i, std::int64_t lanes) {
    store(out + i, load(x + i, lanes) * scale * load(w + i, lanes) * silu(load(z + i, lanes)), lanes);
  });
}

void silu_mul(float* out, const float* gate, const float* up, std::int64_t n) {
  each16(n, [&](std::int64_t i, std::int64_t lanes) {
    store(out + i, silu(load(gate + i, lanes)) * load(up + i, lanes), lanes);
  });
}

void sigmoid_mul(float* out, const float* x, const float* gate, std::int64_t n) {
  each16(n, [&](std::int64_t i, std::int64_t lanes) {
    store(out + i, load(x + i, lanes) * sigmoid(load(gate + i, lanes)), lanes);
  });
}

void add_scaled(float* x, const float* y, float s, std::int64_t n) {
  each16(n, [&](std::int64_t i, std::int64_t lanes) {
    store(x + i, fma(set1(s), load(y + i, lanes), load(x + i, lanes)), lanes);
  });
}

void add_sigmoid_scaled(float* x, const float* y, float s, std::int64_t n) {
  float scale[16];
  store(scale, sigmoid(set1(s)));
  add_scaled(x, y, scale[0], n);
}

// (a, b) ← (a cos − b sin, b cos + a sin) for the pairs (i, i + half), or (2i, 2i + 1).
void rope(float* head, const float* cos, const float* sin, std::int64_t half, bool adjacent) {
  if (adjacent) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float a = head[2 * i], b = head[2 * i + 1];
      head[2 * i] = a * cos[i] - b * sin[i];
      head[2 * i + 1] = b * cos[i] + a * sin[i];
    }
    return;
  }
  each16(half, [&](std::int64_t i, std::int64_t lanes) {
    const F a = load(head + i, lanes), b = load(head + half + i, lanes), c = load(cos + i, lanes),
            s = load(sin + i, lanes);
    store(head + i, a * c - b * s, lanes);
    store(head + half + i, b * c + a * s, lanes);
  });
}

void narrow(void* out, DType dtype, const float* x, std::int64_t n) {
  if (dtype == DType::f32) {
    __builtin_memcpy(out, x, static_cast<std::size_t>(n) * sizeof(float));
    return;
  }
  auto* h = static_cast<std::uint16_t*>(out);
  each16(n, [&](std::int64_t i, std::int64_t lanes) {
    std::uint16_t buffer[16];
    std::uint16_t* to = lanes == 16 ? h + i : buffer;
    if (dtype == DType::bf16)
      store_bf16(to, load(x + i, lanes));
    else
      store_f16(to, load(x + i, lanes));
    if (lanes < 16) __builtin_memcpy(h + i, buffer, static_cast<std::size_t>(lanes) * 2);
  });
}

void widen(float* out, const void* x, DType dtype, std::int64_t n) {
  if (dtype == DType::f32) {
    __builtin_memcpy(out, x, static_cast<std::size_t>(n) * sizeof(float));
    return;
  }
  const auto* h = static_cast<const std::uint16_t*>(x);
  each16(n, [&](std::int64_t i, std::int64_t lanes) {
    std::uint16_t buffer[16] = {};
    const std::uint16_t* from = h + i;
    if (lanes < 16) {
      __builtin_memcpy(buffer, from, static_cast<std::size_t>(lanes) * 2);
      from = buffer;
    }
    store(out + i, dtype == DType::bf16 ? load_bf16(from) : load_f16(from), lanes);
  });
}

// y[c] = silu( Σ_j w[c][j] · u_{t−3+j}[c] ), the oldest tap first.
void conv_row(float* out, const float* const* past, const float* u, const float* w, std::int64_t n) {
  each16(n, [&](std::int64_t i, std::int64_t lanes) {
    float tap[4][16] = {};
    for (std::int64_t c = 0; c < lanes; ++c)
      for (int j = 0; j < 4; ++j) tap[j][c] = w[(i + c) * 4 + j];
    F y = load(tap[0]) * load(past[0] + i, lanes);
    y = fma(load(tap[1]), load(past[1] + i, lanes), y);
    y = fma(load(tap[2]), load(past[2] + i, lanes), y);
    y = fma(load(tap[3]), load(u + i, lanes), y);
    store(out + i, silu(y), lanes);
  });
}

// ln(1 + e) for e in [0, 1]: with s = e / (2 + e), 2 (s + s³/3 + s⁵/5 + …), s ≤ 1/3.
HEARTH_INLINE F log1p_unit(const F& e) {
  const F s = e / (set1(2.0f) + e), s2 = s * s;
  F p = set1(1.0f / 15);
  p = fma(p, s2, set1(1.0f / 13));
  p = fma(p, s2, set1(1.0f / 11));
  p = fma(p, s2, set1(1.0f / 9));
  p = fma(p, s2, set1(1.0f / 7));
  p = fma(p, s2, set1(1.0f / 5));
  p = fma(p, s2, set1(1.0f / 3));
  p = p * s2;
  return set1(2.0f) * fma(p, s, s);
}

// g = −exp(A_log) · softplus(a + dt_bias), beta = sigmoid(b);   softplus(x) = max(x, 0) + ln(1 + e^−|x|)
void gdn_gates(float* g, float* beta, const float* a, const float* b, const float* a_log, const float* dt_bias,
               std::int64_t n) {
  each16(n, [&](std::int64_t i, std::int64_t lanes) {
    const F x = load(a + i, lanes) + load(dt_bias + i, lanes);
    const F softplus = max(zero(), x) + log1p_unit(exp(zero() - abs(x)));
    store(g + i, zero() - exp(load(a_log + i, lanes)) * softplus, lanes);
    store(beta + i, sigmoid(load(b + i, lanes)), lanes);
  });
}

float exp_row(float* e, const float* x, float largest, std::int64_t n) {
  F total = zero();
  each16(n, [&](std::int64_t i, std::int64_t lanes) {
    const F v = exp(load(x + i, lanes) - set1(largest));
    store(e + i, v, lanes);
    total = total + (lanes == 16 ? v : load(e + i, lanes));
  });
  return sum(total);
}

float read(const float* data, std::size_t n) {
  F s[4] = {zero(), zero(), zero(), zero()};
  for (std::size_t i = 0; i + 64 <= n; i += 64) {
    prefetch(data + i + 512);
    prefetch(data + i + 528);
    prefetch(data + i + 544);
    prefetch(data + i + 560);
#pragma GCC unroll 4
    for (int j = 0; j < 4; ++j) s[j] = s[j] + load(data + i + 16 * static_cast<std::size_t>(j));
  }
  return sum((s[0] + s[1]) + (s[2] + s[3]));
}

}  // namespace
}  // namespace hearth
