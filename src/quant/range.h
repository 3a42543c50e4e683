// range.h — the extremes of a block, for the quantizers.
#pragma once

#include <algorithm>
#include <cmath>

namespace hearth {

// The first number of largest magnitude, with its sign.
inline float largest_magnitude(const float* x, int n) {
  float best = 0;
  for (int i = 0; i < n; ++i) {
    if (std::fabs(x[i]) > std::fabs(best)) best = x[i];
  }
  return best;
}

struct MinMax {
  float min, max;
};
inline MinMax min_max(const float* x, int n) {
  const auto [lo, hi] = std::minmax_element(x, x + n);
  return {*lo, *hi};
}

}  // namespace hearth
