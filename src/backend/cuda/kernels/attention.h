// attention.h — rotation, cache writes and paged attention.
//
// attend    a block takes one query row of one KV head: all query heads of the group read each position of the cache once.
//           Positions go by in spans of kSpan; the online softmax of a span and the joining of spans, in ascending order,
//           depend on the row's own position only. Few rows: a block a span, whose states wait in scratch to be joined.
// Shapes    q, out rows [T, H, K]; cache [P, N, G, K] of f32, f16 or bf16; K a multiple of 8, at most 256; H / G at most 16.
#pragma once

#include "backend/cuda/kernels/rows.h"
#include "tensor/tensor.h"

namespace hearth::cuda {

inline constexpr int kSpan = 256;

struct AttendArgs {
  Rows out, q;  // [T · H] rows of K
  const void *k, *v;
  const std::int32_t *positions, *seq_of_row, *block_tables;
  std::int64_t T, H, G, K, max_blocks, block_tokens;
  float scale;
  float* states;  // scratch of attend_scratch() numbers
};
std::int64_t attend_scratch(std::int64_t max_rows, std::int64_t H, std::int64_t max_positions);
void attend(cudaStream_t s, const AttendArgs& args, DType cache_dtype);

void rope(cudaStream_t s, Rows x, const std::int32_t* positions, const float* inv_freq, std::int64_t rows,
          std::int64_t heads, std::int64_t half, bool adjacent);
void write_cache(cudaStream_t s, void* cache, DType dtype, Rows x, const std::int32_t* slots, std::int64_t T,
                 std::int64_t G, std::int64_t K);

}  // namespace hearth::cuda
