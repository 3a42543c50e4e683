#include "backend/cuda/kernels/pack.h"

#include "backend/cuda/check.h"
#include "backend/cuda/kernels/pack_row.cuh"

namespace hearth::cuda {
namespace {

constexpr int kThreads = 256;

// Word `word` (0 … 7) of row `row` (0 … 15) in a tile.
__host__ __device__ inline int tile_word(int row, int word) {
  const int lane = row % 8 * 4 + word % 4, reg = word / 4 * 2 + row / 8;
  return lane * 4 + reg;
}
__global__ void pack(std::uint8_t* tiles, std::int64_t k_tiles, std::int64_t first, const std::uint8_t* stored,
                     std::int64_t rows, std::int64_t row_bytes) {
  const std::int64_t words = k_tiles * 8, i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows * words) return;
  const std::int64_t r = i / words, w = i % words, row = first + r;
  std::uint32_t value = 0;
  for (int b = 0; b < 4; ++b)
    if (w * 4 + b < row_bytes) value |= static_cast<std::uint32_t>(stored[r * row_bytes + w * 4 + b]) << (8 * b);
  auto* tile = reinterpret_cast<std::uint32_t*>(tiles + (row / kTileRows * k_tiles + w / 8) * kTileBytes);
  tile[tile_word(static_cast<int>(row % kTileRows), static_cast<int>(w % 8))] = value;
}

__device__ float fp8_to_float(std::uint8_t b) { return __half2float(__half(__nv_cvt_fp8_to_halfraw(b, __NV_E4M3))); }

__global__ void embed(float* out, MatrixView w, const std::int32_t* ids) {
  const std::int64_t t = blockIdx.x, row = ids[t];
  for (std::int64_t c = threadIdx.x; c < w.cols; c += kThreads) {
    float v = 0;
    if (w.kind == Kind::f32) {
      v = reinterpret_cast<const float*>(w.data)[row * w.cols + c];
    } else {
      const int size = w.kind == Kind::fp8 ? 1 : 2, per_word = 4 / size;
      const std::int64_t word = c / per_word;
      const std::uint8_t* tile = w.data + (row / kTileRows * w.k_tiles + word / 8) * kTileBytes;
      const std::uint8_t* at =
          tile + tile_word(static_cast<int>(row % kTileRows), static_cast<int>(word % 8)) * 4 + c % per_word * size;
      if (w.kind == Kind::fp8)
        v = fp8_to_float(*at) *
            w.scales[(w.scale_row == nullptr ? row / 128 : w.scale_row[row]) * (w.k_tiles / 4) + c / 128];
      else
        v = __bfloat162float(*reinterpret_cast<const __nv_bfloat16*>(at));
    }
    out[t * w.cols + c] = v;
  }
}

struct Plain {
  __device__ static float at(const float* x, std::int64_t i, std::int64_t) { return x[i]; }
};
struct SiluMul {
  __device__ static float at(const float* x, std::int64_t i, std::int64_t half) { return silu(x[i]) * x[half + i]; }
};

// A warp a group of 128.
template <class In>
__global__ void to_fp8(QuantizeArgs a, std::int64_t half) {
  const std::int64_t groups = a.k_tiles / 4;
  const std::int64_t item = static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (item >= a.rows * groups) return;
  const std::int64_t r = item / groups, group = item % groups;
  const int lane = threadIdx.x % 32;
  const float* x = a.x + r * a.x_stride;
  float v[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const std::int64_t c = group * 128 + lane * 4 + j;
    v[j] = c < a.cols ? In::at(x, c, half) : 0.0f;
  }
  pack_fp8(v, group, a.q + r * a.k_tiles * kRowBytes, a.scales + r * groups);
}

template <class In>
__global__ void to_bf16(QuantizeArgs a, std::int64_t half) {
  const std::int64_t words = a.k_tiles * 8, i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= a.rows * words) return;
  const std::int64_t r = i / words, w = i % words;
  const float* x = a.x + r * a.x_stride;
  const float lo = 2 * w < a.cols ? In::at(x, 2 * w, half) : 0.0f,
              hi = 2 * w + 1 < a.cols ? In::at(x, 2 * w + 1, half) : 0.0f;
  const __nv_bfloat162 pair = __floats2bfloat162_rn(lo, hi);
  reinterpret_cast<__nv_bfloat162*>(a.q + r * a.k_tiles * kRowBytes)[row_word(w)] = pair;
}

template <class In>
void fp8(cudaStream_t s, const QuantizeArgs& a, std::int64_t half) {
  if (a.rows == 0) return;
  to_fp8<In><<<blocks_for(a.rows * (a.k_tiles / 4), kThreads / 32), kThreads, 0, s>>>(a, half);
  HEARTH_CUDA(cudaGetLastError());
}
template <class In>
void bf16(cudaStream_t s, const QuantizeArgs& a, std::int64_t half) {
  if (a.rows == 0) return;
  to_bf16<In><<<blocks_for(a.rows * a.k_tiles * 8, kThreads), kThreads, 0, s>>>(a, half);
  HEARTH_CUDA(cudaGetLastError());
}

}  // namespace

void pack_tiles(cudaStream_t s, std::uint8_t* tiles, std::int64_t k_tiles, std::int64_t first,
                const std::uint8_t* stored, std::int64_t rows, std::int64_t row_bytes) {
  if (rows == 0) return;
  pack<<<blocks_for(rows * k_tiles * 8, kThreads), kThreads, 0, s>>>(tiles, k_tiles, first, stored, rows, row_bytes);
  HEARTH_CUDA(cudaGetLastError());
}

void embed_rows(cudaStream_t s, float* out, const MatrixView& w, const std::int32_t* ids, std::int64_t T) {
  if (T == 0) return;
  embed<<<static_cast<unsigned>(T), kThreads, 0, s>>>(out, w, ids);
  HEARTH_CUDA(cudaGetLastError());
}

void quantize_fp8(cudaStream_t s, const QuantizeArgs& a) { fp8<Plain>(s, a, 0); }
void round_bf16(cudaStream_t s, const QuantizeArgs& a) { bf16<Plain>(s, a, 0); }
void quantize_fp8_silu_mul(cudaStream_t s, const QuantizeArgs& a, std::int64_t half) { fp8<SiluMul>(s, a, half); }
void round_bf16_silu_mul(cudaStream_t s, const QuantizeArgs& a, std::int64_t half) { bf16<SiluMul>(s, a, half); }

}  // namespace hearth::cuda
