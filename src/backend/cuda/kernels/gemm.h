// gemm.h — products with weight matrices.
//
// Shape     out[t, n] = Σ_k x[t, k] · W[n, k]. Weights are operand A (16 rows of a tile), rows of x operand B (8 at a time).
// Order     K is cut into S = min(8, blocks) segments of whole blocks (a block is 4 tiles across: 128 FP8 or 64 BF16 numbers).
//           A warp takes a segment: within a block the tensor core's order, blocks in ascending order, each multiplied by
//           its two scales (FP8) before it is added; segments are added in ascending order. None of it depends on how many
//           rows x has.
// Cost      a weight is read once for up to 64 rows of x.
#pragma once

#include "backend/cuda/kernels/matrix.h"
#include "backend/cuda/kernels/rows.h"

namespace hearth::cuda {

struct Product {  // one matrix of a launch
  MatrixView w;
  const float* bias = nullptr;
  float* out = nullptr;  // [rows of x, ld]
  std::int64_t ld = 0;
  std::int32_t first_tile = 0;  // of the launch's row tiles
};

inline constexpr int kMaxProducts = 4;

// Rows of x packed as matrix.h says, with scales [rows][k_tiles / 4] for FP8.
struct Activations {
  const std::uint8_t* q = nullptr;
  const float* scales = nullptr;
  const float* x = nullptr;  // Kind::f32: plain rows
  std::int64_t x_stride = 0;
  std::int64_t rows = 0;
};

// Matrices of one kind and one K.
void products(cudaStream_t s, const Product* list, int count, const Activations& x);

// Products with experts: entry i of the order takes expert e with begin[e] ≤ i < begin[e + 1], row order[i] / divide of x, and
// writes row order[i] of out. `tables`: [matrices][E] views in device memory, all of one shape; matrix m writes columns
// m · ⌈N / 16⌉ · 16 ….
struct ExpertProducts {
  const MatrixView* tables = nullptr;
  int matrices = 0;
  std::int64_t E = 0, rows = 0, cols = 0;
  Kind kind = Kind::f32;
  const std::int32_t *ids = nullptr, *begin = nullptr, *order = nullptr;  // no order: each entry by itself
  std::int64_t entries = 0, divide = 1;
  std::int64_t most_rows = 0;  // of one expert
  float* out = nullptr;
  std::int64_t ld = 0;
};
void expert_products(cudaStream_t s, const ExpertProducts& p, const Activations& x);

}  // namespace hearth::cuda
