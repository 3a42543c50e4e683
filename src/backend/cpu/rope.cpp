#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_ops_impl.h"

namespace hearth {

// Angles are rounded to f32 (the definition); cos and sin of that angle in double, rounded once.
void CpuOps::rope_table(Tensor positions, Tensor inv_freq) {
  const auto* p = positions.ptr<std::int32_t>();
  const auto* f = inv_freq.ptr<float>();
  const std::int64_t T = positions.dim(0), half = inv_freq.dim(0);
  if (std::equal(p, p + T, rope_positions_.begin(), rope_positions_.end()) &&
      std::equal(f, f + half, rope_freq_.begin(), rope_freq_.end()))
    return;
  rope_positions_.assign(p, p + T);
  rope_freq_.assign(f, f + half);
  rope_cos_.resize(static_cast<std::size_t>(T * half));
  rope_sin_.resize(static_cast<std::size_t>(T * half));
  each(T, 64 * half, [&](std::int64_t t) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(p[t]) * f[i];
      const auto at = static_cast<std::size_t>(t * half + i);
      rope_cos_[at] = static_cast<float>(std::cos(static_cast<double>(angle)));
      rope_sin_[at] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  });
}

void CpuOps::rope(Tensor x, Tensor positions, Tensor inv_freq, RopeStyle style) {
  rope_table(positions, inv_freq);
  const std::int64_t T = x.dim(0), H = x.dim(1), half = inv_freq.dim(0);
  each(T, 2 * H * half, [&](std::int64_t t) {
    for (std::int64_t h = 0; h < H; ++h)
      kernels_.rope(x.row<float>(t, h), rope_cos_.data() + t * half, rope_sin_.data() + t * half, half,
                    style == RopeStyle::adjacent);
  });
}

}  // namespace hearth
