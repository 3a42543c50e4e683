#include "backend/cuda/kernels/router.h"

#include "backend/cuda/check.h"
#include "backend/cuda/kernels/common.cuh"

namespace hearth::cuda {
namespace {

constexpr int kThreads = 256, kMaxActive = 32;

template <int kPerLane>  // experts of a lane
__global__ void topk_rows(float* weights, std::int32_t* ids, Rows logits, std::int64_t T, std::int64_t E,
                          std::int64_t A, bool renormalise) {
  const std::int64_t t = static_cast<std::int64_t>(blockIdx.x) * (kThreads / 32) + threadIdx.x / 32;
  if (t >= T) return;
  const int lane = threadIdx.x % 32;
  float p[kPerLane];
  float top = -INFINITY;
#pragma unroll
  for (int j = 0; j < kPerLane; ++j) {
    const int e = j * 32 + lane;
    p[j] = e < E ? logits.row(t)[e] : -INFINITY;
    top = fmaxf(top, p[j]);
  }
  top = warp_max(top);
  float sum = 0;
#pragma unroll
  for (int j = 0; j < kPerLane; ++j) {
    if (j * 32 >= E) continue;
    p[j] = j * 32 + lane < E ? expf(p[j] - top) : -1.0f;
    sum += p[j] > 0 ? p[j] : 0.0f;
  }
  sum = warp_sum(sum);
  float chosen_sum = 0, own_weight = 0;
  std::int32_t own_id = 0;
  for (int a = 0; a < A; ++a) {
    float best = -2.0f;
    int best_e = 0;
#pragma unroll
    for (int j = 0; j < kPerLane; ++j)
      if (j * 32 < E && p[j] > best) best = p[j], best_e = j * 32 + lane;
#pragma unroll
    for (int o = 16; o > 0; o >>= 1) {
      const float other = __shfl_xor_sync(0xffffffffu, best, o);
      const int other_e = __shfl_xor_sync(0xffffffffu, best_e, o);
      if (other > best || (other == best && other_e < best_e)) best = other, best_e = other_e;
    }
#pragma unroll
    for (int j = 0; j < kPerLane; ++j)
      if (j * 32 + lane == best_e) p[j] = -1.0f;
    const float w = best / sum;
    chosen_sum += w;
    if (lane == a) own_weight = w, own_id = best_e;
  }
  if (lane < A) {
    weights[t * A + lane] = renormalise ? own_weight / chosen_sum : own_weight;
    ids[t * A + lane] = own_id;
  }
}

// A block an expert: how many entries come before its own, then its entries in order.
__global__ void group(const std::int32_t* ids, std::int64_t entries, std::int64_t E, std::int32_t* begin,
                      std::int32_t* order) {
  __shared__ int warp_counts[kThreads / 32];
  const int e = blockIdx.x, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int before = 0;
  for (std::int64_t i = threadIdx.x; i < entries; i += kThreads) before += ids[i] < e;
#pragma unroll
  for (int o = 16; o > 0; o >>= 1) before += __shfl_xor_sync(0xffffffffu, before, o);
  if (lane == 0) warp_counts[warp] = before;
  __syncthreads();
  int at = 0;
  for (const int c : warp_counts) at += c;
  __syncthreads();
  if (threadIdx.x == 0) {
    begin[e] = at;
    if (e == E - 1) begin[E] = static_cast<std::int32_t>(entries);
  }
  for (std::int64_t base = 0; base < entries; base += kThreads) {
    const std::int64_t i = base + threadIdx.x;
    const bool own = i < entries && ids[i] == e;
    const unsigned mask = __ballot_sync(0xffffffffu, own);
    if (lane == 0) warp_counts[warp] = __popc(mask);
    __syncthreads();
    int mine = at;
    for (int w = 0; w < kThreads / 32; ++w) {
      if (w < warp) mine += warp_counts[w];
      at += warp_counts[w];
    }
    if (own) order[mine + __popc(mask & ((1u << lane) - 1))] = static_cast<std::int32_t>(i);
    __syncthreads();
  }
}

// Grid (256 columns, row): the experts' parts in ascending expert id.
__global__ void add_rows(float* out, const float* part, const float* weights, const std::int32_t* ids, std::int64_t A,
                         std::int64_t D) {
  __shared__ std::int32_t id[kMaxActive], place[kMaxActive];
  __shared__ float weight[kMaxActive];
  const std::int64_t t = blockIdx.y, d = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  const int a = threadIdx.x;
  if (a < A) id[a] = ids[t * A + a];
  __syncthreads();
  if (a < A) {
    int rank = 0;
    for (int b = 0; b < A; ++b) rank += id[b] < id[a] || (id[b] == id[a] && b < a);
    place[rank] = a;
    weight[rank] = weights[t * A + a];
  }
  __syncthreads();
  if (d >= D) return;
  float sum = 0;
#pragma unroll 8
  for (int n = 0; n < A; ++n) sum = fmaf(weight[n], part[(t * A + place[n]) * D + d], sum);
  out[t * D + d] = sum;
}

}  // namespace

void router_topk(cudaStream_t s, float* weights, std::int32_t* ids, Rows logits, std::int64_t T, std::int64_t E,
                 std::int64_t A, bool renormalise) {
  if (T == 0) return;
  if (E > 1024 || A > kMaxActive) cuda_failed(cudaErrorNotSupported, "router_topk: at most 1,024 experts, 32 active");
  const unsigned blocks = blocks_for(T, kThreads / 32);
  if (E <= 256)
    topk_rows<8><<<blocks, kThreads, 0, s>>>(weights, ids, logits, T, E, A, renormalise);
  else
    topk_rows<32><<<blocks, kThreads, 0, s>>>(weights, ids, logits, T, E, A, renormalise);
  HEARTH_CUDA(cudaGetLastError());
}

void group_by_expert(cudaStream_t s, const std::int32_t* ids, std::int64_t entries, std::int64_t E, std::int32_t* begin,
                     std::int32_t* order) {
  group<<<static_cast<unsigned>(E), kThreads, 0, s>>>(ids, entries, E, begin, order);
  HEARTH_CUDA(cudaGetLastError());
}

void add_experts(cudaStream_t s, float* out, const float* part, const float* weights, const std::int32_t* ids,
                 std::int64_t T, std::int64_t A, std::int64_t D) {
  if (T == 0) return;
  if (A > kMaxActive) cuda_failed(cudaErrorNotSupported, "moe: at most 32 active experts");
  add_rows<<<dim3(blocks_for(D, kThreads), static_cast<unsigned>(T)), kThreads, 0, s>>>(out, part, weights, ids, A, D);
  HEARTH_CUDA(cudaGetLastError());
}

}  // namespace hearth::cuda
