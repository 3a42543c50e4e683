// k_affine.h — scales and minima of Q4_K and Q5_K: how 256 numbers become eight sub-blocks d·sc·q − dmin·mn.
//
// A plain choice (the range of each sub-block), not the search that other writers make; for tests and conversions.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "quant/blocks.h"
#include "quant/range.h"
#include "tensor/float16.h"

namespace hearth {

struct KAffine {
  std::uint16_t d = 0, dmin = 0;
  std::array<ScaleMin, 8> sub{};
  std::array<std::uint8_t, 256> q{};  // 0 … high
};

inline KAffine quantize_k_affine(const float* x, int high) {
  std::array<float, 8> scale{}, min{};
  for (std::size_t s = 0; s < 8; ++s) {
    const MinMax r = min_max(x + 32 * s, 32);
    min[s] = std::max(0.0f, -r.min);
    scale[s] = (std::max(r.max, 0.0f) + min[s]) / static_cast<float>(high);
  }
  KAffine k;
  k.d = f32_to_f16(*std::max_element(scale.begin(), scale.end()) / 63);
  k.dmin = f32_to_f16(*std::max_element(min.begin(), min.end()) / 63);
  const float d = f16_to_f32(k.d);
  const float dmin = f16_to_f32(k.dmin);
  for (std::size_t s = 0; s < 8; ++s) {
    k.sub[s].scale = d > 0 ? to_quant(scale[s] / d + 0.5f, 63) : std::uint8_t{0};
    k.sub[s].min = dmin > 0 ? to_quant(min[s] / dmin + 0.5f, 63) : std::uint8_t{0};
    const float step = d * static_cast<float>(k.sub[s].scale);
    const float low = dmin * static_cast<float>(k.sub[s].min);
    for (std::size_t l = 0; l < 32; ++l) {
      k.q[32 * s + l] = step > 0 ? to_quant((x[32 * s + l] + low) / step + 0.5f, high) : std::uint8_t{0};
    }
  }
  return k;
}

}  // namespace hearth
