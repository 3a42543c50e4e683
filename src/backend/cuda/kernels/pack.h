// pack.h — stored rows into tiles, tiles back into rows, activations into the row order of matrix.h.
#pragma once

#include "backend/cuda/kernels/matrix.h"
#include "backend/cuda/kernels/rows.h"

namespace hearth::cuda {

// rows stored rows of row_bytes each (FP8 or BF16) become the tile rows that begin at matrix row `first`.
void pack_tiles(cudaStream_t s, std::uint8_t* tiles, std::int64_t k_tiles, std::int64_t first,
                const std::uint8_t* stored, std::int64_t rows, std::int64_t row_bytes);

// out[t] = row ids[t] of the matrix, widened.
void embed_rows(cudaStream_t s, float* out, const MatrixView& w, const std::int32_t* ids, std::int64_t T);

// Row r of the result is row (index ? index[r] / divide : r) of x. q: rows of q_stride bytes; scales [rows][k_tiles / 4] for FP8.
struct QuantizeArgs {
  const float* x;
  std::int64_t x_stride, rows, cols, k_tiles;
  std::uint8_t* q;
  float* scales;
};
void quantize_fp8(cudaStream_t s, const QuantizeArgs& args);
void round_bf16(cudaStream_t s, const QuantizeArgs& args);

// The same of silu(gate) ⊙ up, gate and up being numbers 0 … and half … of each row of x.
void quantize_fp8_silu_mul(cudaStream_t s, const QuantizeArgs& args, std::int64_t half);
void round_bf16_silu_mul(cudaStream_t s, const QuantizeArgs& args, std::int64_t half);

}  // namespace hearth::cuda
