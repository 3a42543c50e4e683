// pack.h — a weight matrix of the CPU backend: panels of 16 rows in the order in which the kernels read them.
//
// Owns      the panels and, for FP8, the scales; shared by every copy of its Matrix.
// Cost      while packing, a few stored rows for each thread (kReadBytes or one panel's) beside the panels themselves.
// Layouts   f32         per column: 16 numbers                      f16    per 2 columns: 16 numbers each
//           bf16        per 2 columns: 16 pairs                     f8     per 4 columns: 16 pairs, 16 pairs
//           the others  kernels/quant_gemm.h
// Limits    rows are padded with zeros to a multiple of 16, columns of f16 and bf16 to 2 and of f8 to 4; a panel's bytes
//           to a multiple of 64. Otherwise a matrix takes the bytes it has in the checkpoint.
// Errors    StartupError for formats that are not weights and for NaN weights in FP8 (the kernels read them as numbers).
#pragma once

#include <span>
#include <vector>

#include "backend/cpu/kernels.h"
#include "base/thread_pool.h"
#include "compute/device.h"
#include "compute/matrix.h"

namespace hearth {

struct PackedMatrix {
  Layout layout = Layout::f32;
  std::int64_t rows = 0, cols = 0;
  std::size_t panel_bytes = 0;
  std::int64_t num_panels = 0;
  const std::byte* panels = nullptr;
  const float* scales = nullptr;  // f8: GemmArgs::scales
  std::int64_t scale_lanes = 1;
  std::size_t bytes = 0;
  Buffer storage;
};

inline const PackedMatrix& packed(const Matrix& m) { return *static_cast<const PackedMatrix*>(m.impl.get()); }

// The layout that computes a stored format, and the format it computes from: the same, unless the format is expanded.
struct LayoutChoice {
  Layout layout;
  Format format;
  bool expanded;
};
LayoutChoice layout_for(Format format);

std::size_t panel_bytes(Layout layout, std::int64_t cols);

std::shared_ptr<PackedMatrix> pack(std::span<const StoredMatrix> parts, Device& device, ThreadPool& pool);

// out[0 … cols) = row of the matrix.
void unpack_row(const PackedMatrix& m, std::int64_t row, float* out);

}  // namespace hearth
