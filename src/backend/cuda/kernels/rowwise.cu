#include "backend/cuda/kernels/rowwise.h"

#include "backend/cuda/check.h"
#include "backend/cuda/kernels/delta_step.cuh"
#include "backend/cuda/kernels/pack_row.cuh"

namespace hearth::cuda {
namespace {

constexpr int kShort = 512;  // numbers of a row that one warp takes
constexpr int kThreads = 256;

struct RmsNorm {
  Rows out, x;
  const float* w;
  float eps;
  __device__ float load(std::int64_t r, std::int64_t i) const { return x.row(r)[i]; }
  __device__ void store(std::int64_t r, std::int64_t i, float v, float factor) const {
    out.row(r)[i] = v * factor * w[i];
  }
  __device__ float factor(float squares, std::int64_t n) const {
    return rms_factor(squares, static_cast<float>(n), eps);
  }
};
struct AddRmsNorm {
  float *out, *r;
  const float *m, *w;
  std::int64_t n;
  float eps;
  __device__ float load(std::int64_t t, std::int64_t i) const {
    const float v = r[t * n + i] + m[t * n + i];
    r[t * n + i] = v;
    return v;
  }
  __device__ void store(std::int64_t t, std::int64_t i, float v, float factor) const {
    out[t * n + i] = v * factor * w[i];
  }
  __device__ float factor(float squares, std::int64_t) const { return rms_factor(squares, static_cast<float>(n), eps); }
};
struct L2Norm {
  Rows out, x;
  float eps, scale;
  __device__ float load(std::int64_t r, std::int64_t i) const { return x.row(r)[i]; }
  __device__ void store(std::int64_t r, std::int64_t i, float v, float factor) const { out.row(r)[i] = v * factor; }
  __device__ float factor(float squares, std::int64_t) const { return l2_factor(squares, eps, scale); }
};
struct GatedRmsNorm {
  Rows out, x, z;
  const float* w;
  float eps;
  __device__ float load(std::int64_t r, std::int64_t i) const { return x.row(r)[i]; }
  __device__ void store(std::int64_t r, std::int64_t i, float v, float factor) const {
    out.row(r)[i] = v * factor * w[i] * silu(z.row(r)[i]);
  }
  __device__ float factor(float squares, std::int64_t n) const {
    return rms_factor(squares, static_cast<float>(n), eps);
  }
};

// A row in registers: lane i of a warp holds numbers i, i + 32 …
template <class Norm>
__global__ void norm_short(Norm norm, std::int64_t rows, std::int64_t n) {
  const std::int64_t r = static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (r >= rows) return;
  float v[kShort / 32];
#pragma unroll
  for (int j = 0; j < kShort / 32; ++j) {
    const std::int64_t i = j * 32 + threadIdx.x % 32;
    v[j] = i < n ? norm.load(r, i) : 0.0f;
  }
  const float factor = norm.factor(row_squares(v), n);
#pragma unroll
  for (int j = 0; j < kShort / 32; ++j) {
    const std::int64_t i = j * 32 + threadIdx.x % 32;
    if (i < n) norm.store(r, i, v[j], factor);
  }
}

template <class Norm>
__global__ void norm_long(Norm norm, std::int64_t n) {
  __shared__ float shared[32];
  extern __shared__ float v[];
  const std::int64_t r = blockIdx.x;
  float squares = 0;
  for (std::int64_t i = threadIdx.x; i < n; i += kThreads) {
    v[i] = norm.load(r, i);
    squares = fmaf(v[i], v[i], squares);
  }
  const float factor = norm.factor(block_sum(squares, shared), n);
  for (std::int64_t i = threadIdx.x; i < n; i += kThreads) norm.store(r, i, v[i], factor);
}

// The same, and the result in the forms that products take. A warp takes groups of 128, four numbers a lane, all loaded at once.
template <int kGroups>  // of a warp, at most
__global__ void __launch_bounds__(kThreads) norm_and_pack(AddRmsNorm norm, std::int64_t n, PackedRows to) {
  __shared__ float shared[32];
  const std::int64_t r = blockIdx.x, groups = n / 128;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  float4 v[kGroups], w[kGroups];
  float squares = 0;
#pragma unroll
  for (int k = 0; k < kGroups; ++k) {
    const std::int64_t g = warp + k * (kThreads / 32), at = g * 128 + lane * 4;
    if (g >= groups) continue;
    const float4 a = *reinterpret_cast<const float4*>(norm.r + r * n + at);
    const float4 b = *reinterpret_cast<const float4*>(norm.m + r * n + at);
    w[k] = *reinterpret_cast<const float4*>(norm.w + at);
    v[k] = {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w};
  }
#pragma unroll
  for (int k = 0; k < kGroups; ++k) {
    const std::int64_t g = warp + k * (kThreads / 32);
    if (g >= groups) continue;
    *reinterpret_cast<float4*>(norm.r + r * n + g * 128 + lane * 4) = v[k];
    squares = fmaf(v[k].x, v[k].x, fmaf(v[k].y, v[k].y, fmaf(v[k].z, v[k].z, fmaf(v[k].w, v[k].w, squares))));
  }
  const float factor = norm.factor(block_sum(squares, shared), n);
#pragma unroll
  for (int k = 0; k < kGroups; ++k) {
    const std::int64_t g = warp + k * (kThreads / 32);
    if (g >= groups) continue;
    const float four[4] = {v[k].x * factor * w[k].x, v[k].y * factor * w[k].y, v[k].z * factor * w[k].z,
                           v[k].w * factor * w[k].w};
    *reinterpret_cast<float4*>(norm.out + r * n + g * 128 + lane * 4) = {four[0], four[1], four[2], four[3]};
    pack_fp8(four, g, to.fp8 + r * to.fp8_tiles * kRowBytes, to.scales + r * groups);
    pack_bf16(four, g, to.bf16 + r * to.bf16_tiles * kRowBytes);
  }
}

template <class Norm>
void launch(cudaStream_t s, const Norm& norm, std::int64_t rows, std::int64_t n) {
  if (rows == 0) return;
  if (n <= kShort)
    norm_short<<<blocks_for(rows, kThreads / 32), kThreads, 0, s>>>(norm, rows, n);
  else
    norm_long<<<static_cast<unsigned>(rows), kThreads, static_cast<std::size_t>(n) * sizeof(float), s>>>(norm, n);
  HEARTH_CUDA(cudaGetLastError());
}

template <class F>
__global__ void each_number(F f, std::int64_t rows, std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < rows * n) f(i / n, i % n);
}
template <class F>
void for_each_number(cudaStream_t s, std::int64_t rows, std::int64_t n, const F& f) {
  if (rows * n == 0) return;
  each_number<<<blocks_for(rows * n, kThreads), kThreads, 0, s>>>(f, rows, n);
  HEARTH_CUDA(cudaGetLastError());
}

struct Add {
  float* x;
  const float* y;
  __device__ void operator()(std::int64_t, std::int64_t i) const { x[i] += y[i]; }
};
struct SiluMul {
  float* out;
  const float *gate, *up;
  __device__ void operator()(std::int64_t, std::int64_t i) const { out[i] = silu(gate[i]) * up[i]; }
};
struct SiluMulRows {
  Rows out, gate, up;
  __device__ void operator()(std::int64_t r, std::int64_t i) const {
    out.row(r)[i] = silu(gate.row(r)[i]) * up.row(r)[i];
  }
};
struct SigmoidMul {
  Rows out, x, gate;
  __device__ void operator()(std::int64_t r, std::int64_t i) const {
    out.row(r)[i] = x.row(r)[i] * sigmoid(gate.row(r)[i]);
  }
};
struct AddSigmoidScaled {
  float* x;
  const float* y;
  Rows scale;
  std::int64_t n;
  __device__ void operator()(std::int64_t r, std::int64_t i) const {
    x[r * n + i] += sigmoid(scale.row(r)[0]) * y[r * n + i];
  }
};
struct GatherRows {
  float* out;
  const float* x;
  const std::int32_t* ids;
  std::int64_t n;
  __device__ void operator()(std::int64_t r, std::int64_t i) const { out[r * n + i] = x[ids[r] * n + i]; }
};

}  // namespace

void rms_norm(cudaStream_t s, Rows out, Rows x, const float* w, std::int64_t rows, std::int64_t n, float eps) {
  launch(s, RmsNorm{out, x, w, eps}, rows, n);
}
void add_rms_norm(cudaStream_t s, float* out, float* r, const float* m, const float* w, std::int64_t rows,
                  std::int64_t n, float eps, const PackedRows& packed) {
  const AddRmsNorm norm{out, r, m, w, n, eps};
  if (packed.fp8 == nullptr || n <= kShort) return launch(s, norm, rows, n);
  if (rows == 0) return;
  if (n <= 128 * 2 * (kThreads / 32))
    norm_and_pack<2><<<static_cast<unsigned>(rows), kThreads, 0, s>>>(norm, n, packed);
  else
    norm_and_pack<8><<<static_cast<unsigned>(rows), kThreads, 0, s>>>(norm, n, packed);
  HEARTH_CUDA(cudaGetLastError());
}
void l2_norm(cudaStream_t s, Rows out, Rows x, std::int64_t rows, std::int64_t n, float eps, float scale) {
  launch(s, L2Norm{out, x, eps, scale}, rows, n);
}
void gated_rms_norm(cudaStream_t s, Rows out, Rows x, Rows z, const float* w, std::int64_t rows, std::int64_t n,
                    float eps) {
  launch(s, GatedRmsNorm{out, x, z, w, eps}, rows, n);
}

void add(cudaStream_t s, float* x, const float* y, std::int64_t n) { for_each_number(s, 1, n, Add{x, y}); }
void silu_mul(cudaStream_t s, float* out, const float* gate, const float* up, std::int64_t n) {
  for_each_number(s, 1, n, SiluMul{out, gate, up});
}
void silu_mul_rows(cudaStream_t s, Rows out, Rows gate, Rows up, std::int64_t rows, std::int64_t n) {
  for_each_number(s, rows, n, SiluMulRows{out, gate, up});
}
void sigmoid_mul(cudaStream_t s, Rows out, Rows x, Rows gate, std::int64_t rows, std::int64_t n) {
  for_each_number(s, rows, n, SigmoidMul{out, x, gate});
}
void add_sigmoid_scaled(cudaStream_t s, float* x, const float* y, Rows scale, std::int64_t rows, std::int64_t n) {
  for_each_number(s, rows, n, AddSigmoidScaled{x, y, scale, n});
}
void gather_rows(cudaStream_t s, float* out, const float* x, const std::int32_t* ids, std::int64_t rows,
                 std::int64_t n) {
  for_each_number(s, rows, n, GatherRows{out, x, ids, n});
}

}  // namespace hearth::cuda
