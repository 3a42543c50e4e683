// rows.h — what a launch is told of a strided view, and how many blocks it takes.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

namespace hearth::cuda {

// Rows of a view of two or three dimensions, counted through, the last outer axis fastest.
struct Rows {
  float* data;
  std::int64_t inner;  // rows of the last outer axis
  std::int64_t outer_stride, inner_stride;
#ifdef __CUDACC__
  __device__ float* row(std::int64_t r) const {
    return inner == 1 ? data + r * outer_stride : data + r / inner * outer_stride + r % inner * inner_stride;
  }
#endif
};

inline unsigned blocks_for(std::int64_t n, std::int64_t per) { return static_cast<unsigned>((n + per - 1) / per); }

}  // namespace hearth::cuda
