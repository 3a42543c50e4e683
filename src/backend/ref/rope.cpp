#include <cmath>

#include "backend/ref/ref_ops.h"

namespace hearth {

void RefOps::rope(Tensor x, Tensor positions, Tensor inv_freq, RopeStyle style) {
  const std::int64_t half = inv_freq.dim(0);  // R / 2
  for (std::int64_t t = 0; t < x.dim(0); ++t) {
    const auto position = static_cast<float>(positions.ptr<std::int32_t>()[t]);
    for (std::int64_t i = 0; i < half; ++i) {
      const float angle = position * inv_freq.ptr<float>()[i];  // the rounding to f32 is part of the definition
      const double c = std::cos(static_cast<double>(angle)), s = std::sin(static_cast<double>(angle));
      const std::int64_t first = style == RopeStyle::half_split ? i : 2 * i;
      const std::int64_t second = style == RopeStyle::half_split ? i + half : 2 * i + 1;
      for (std::int64_t h = 0; h < x.dim(1); ++h) {
        float* head = x.row<float>(t, h);
        const double a = head[first], b = head[second];
        head[first] = static_cast<float>(a * c - b * s);
        head[second] = static_cast<float>(b * c + a * s);
      }
    }
  }
}

}  // namespace hearth
