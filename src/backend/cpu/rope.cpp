#include <algorithm>
#include <cmath>

#include "backend/cpu/cpu_ops_impl.h"

namespace hearth {

// Angles are rounded to f32 (the definition); cos and sin of that angle in double, rounded once.
const RopeTable& CpuOps::rope_table(Tensor positions, Tensor inv_freq) {
  const auto* p = positions.ptr<std::int32_t>();
  const auto* f = inv_freq.ptr<float>();
  const std::int64_t T = positions.dim(0), half = inv_freq.dim(0);
  if (rope_ && std::equal(p, p + T, rope_->positions, rope_->positions + rope_->rows) &&
      std::equal(f, f + half, rope_->freq, rope_->freq + rope_->half))
    return *rope_;
  const RopeTable& table = rope_.emplace(rope_memory_.lay_out<RopeTable>(T, half));
  std::copy_n(p, T, table.positions);
  std::copy_n(f, half, table.freq);
  each(T, 64 * half, [&](std::int64_t t) {
    for (std::int64_t i = 0; i < half; ++i) {
      const float angle = static_cast<float>(p[t]) * f[i];
      table.cos[t * half + i] = static_cast<float>(std::cos(static_cast<double>(angle)));
      table.sin[t * half + i] = static_cast<float>(std::sin(static_cast<double>(angle)));
    }
  });
  return table;
}

void CpuOps::rope(Tensor x, Tensor positions, Tensor inv_freq, RopeStyle style) {
  const RopeTable& table = rope_table(positions, inv_freq);
  const std::int64_t T = x.dim(0), H = x.dim(1), half = inv_freq.dim(0);
  each(T, 2 * H * half, [&](std::int64_t t) {
    for (std::int64_t h = 0; h < H; ++h)
      kernels_.rope(x.row<float>(t, h), table.cos + t * half, table.sin + t * half, half, style == RopeStyle::adjacent);
  });
}

}  // namespace hearth
