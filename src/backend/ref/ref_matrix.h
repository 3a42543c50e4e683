// ref_matrix.h — a weight matrix of the reference backend: the checkpoint's bytes and scales as they are.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "compute/matrix.h"

namespace hearth {

struct RefMatrix {
  Format format = Format::f32;
  std::int64_t rows = 0, cols = 0;
  std::int64_t row_bytes = 0;
  std::vector<std::byte> data;                 // rows · row_bytes
  std::vector<float> scales;                   // f8_e4m3: rows of ceil(cols/128) multipliers
  std::vector<std::int64_t> scale_row_of_row;  // which of them a row takes: the grid begins anew with each stacked part

  // out[c] = W[row, c], exact in f32 (an f8 number times its scale is rounded once).
  void widen_row(std::int64_t row, std::span<float> out) const;
};

inline const RefMatrix& ref_matrix(const Matrix& m) { return *static_cast<const RefMatrix*>(m.impl.get()); }

// Σ_i a[i] · b[i] in double.
double dot(std::span<const float> a, const float* b);

}  // namespace hearth
