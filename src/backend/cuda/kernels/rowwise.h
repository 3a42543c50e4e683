// rowwise.h — launches of the operations that take rows and give rows: norms, products of numbers, copies.
#pragma once

#include <cuda_runtime_api.h>

#include "backend/cuda/kernels/matrix.h"
#include "backend/cuda/kernels/rows.h"

namespace hearth::cuda {

// packed: also in the forms that products take, for rows of more than 512 numbers and whole groups of 128.
// Each row is one warp's when it is short, else one block's; what a row gets does not depend on the others.
void rms_norm(cudaStream_t s, Rows out, Rows x, const float* w, std::int64_t rows, std::int64_t n, float eps);
void add_rms_norm(cudaStream_t s, float* out, float* r, const float* m, const float* w, std::int64_t rows,
                  std::int64_t n, float eps, const PackedRows& packed = {});
void l2_norm(cudaStream_t s, Rows out, Rows x, std::int64_t rows, std::int64_t n, float eps, float scale);
void gated_rms_norm(cudaStream_t s, Rows out, Rows x, Rows z, const float* w, std::int64_t rows, std::int64_t n,
                    float eps);

void add(cudaStream_t s, float* x, const float* y, std::int64_t n);
void silu_mul(cudaStream_t s, float* out, const float* gate, const float* up, std::int64_t n);
void silu_mul_rows(cudaStream_t s, Rows out, Rows gate, Rows up, std::int64_t rows, std::int64_t n);
void sigmoid_mul(cudaStream_t s, Rows out, Rows x, Rows gate, std::int64_t rows, std::int64_t n);
void add_sigmoid_scaled(cudaStream_t s, float* x, const float* y, Rows scale, std::int64_t rows, std::int64_t n);
void gather_rows(cudaStream_t s, float* out, const float* x, const std::int32_t* ids, std::int64_t rows,
                 std::int64_t n);

}  // namespace hearth::cuda
