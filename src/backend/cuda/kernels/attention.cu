#include "backend/cuda/kernels/attention.h"

#include "backend/cuda/check.h"
#include "backend/cuda/kernels/common.cuh"

namespace hearth::cuda {
namespace {

constexpr int kThreads = 256, kTile = 64, kMaxHeads = 16, kMaxWidth = 256;
constexpr std::int64_t kMaxParts = 4096;  // rows times spans, up to which a block takes a span

struct State {
  float m, l;
};

// The softmax of `heads` queries over positions [s0, s1); acc[h] is dimension threadIdx.x of head h.
template <class T>
__device__ void attend_span(const AttendArgs& a, const float* q, std::int64_t heads, std::int64_t g,
                            const std::int32_t* table, std::int64_t s0, std::int64_t s1, float (&acc)[kMaxHeads],
                            State* state, float* p) {
  __shared__ float tile[kTile][65];  // 64 dimensions of the tile's keys at a time
  const auto* k = static_cast<const T*>(a.k);
  const auto* v = static_cast<const T*>(a.v);
  for (std::int64_t begin = s0; begin < s1; begin += kTile) {
    const int count = static_cast<int>(s1 - begin < kTile ? s1 - begin : kTile);
    const auto row_of = [&](int j) {
      const std::int64_t at = begin + j;
      return ((static_cast<std::int64_t>(table[at / a.block_tokens]) * a.block_tokens + at % a.block_tokens) * a.G +
              g) *
             a.K;
    };
    // Scores: thread (j, part) takes heads part, part + 4 … of position j.
    const int j = threadIdx.x % kTile, part = threadIdx.x / kTile;
    float score[kMaxHeads / 4] = {};
    for (int d0 = 0; d0 < a.K; d0 += 64) {
      const int width = static_cast<int>(a.K - d0 < 64 ? a.K - d0 : 64);
      __syncthreads();
      for (int i = threadIdx.x; i < count * width; i += kThreads)
        tile[i / width][i % width] = widen(k[row_of(i / width) + d0 + i % width]);
      __syncthreads();
      if (j < count)
        for (int d = 0; d < width; ++d) {
          const float kd = tile[j][d];
#pragma unroll
          for (int h = 0; h < kMaxHeads / 4; ++h)
            if (part + 4 * h < heads) score[h] += q[(part + 4 * h) * kMaxWidth + d0 + d] * kd;
        }
    }
#pragma unroll
    for (int h = 0; h < kMaxHeads / 4; ++h)
      if (part + 4 * h < heads) p[(part + 4 * h) * kTile + j] = j < count ? score[h] * a.scale : -INFINITY;
    __syncthreads();
    // Softmax: a warp a head.
    __shared__ float keep[kMaxHeads];
    for (int h = threadIdx.x / 32; h < heads; h += kThreads / 32) {
      const int lane = threadIdx.x % 32;
      const float s_lo = p[h * kTile + lane], s_hi = p[h * kTile + lane + 32];
      const float m0 = state[h].m, l0 = state[h].l;
      const float m = fmaxf(m0, warp_max(fmaxf(s_lo, s_hi)));
      const float lo = expf(s_lo - m), hi = expf(s_hi - m), factor = expf(m0 - m);
      p[h * kTile + lane] = lo;
      p[h * kTile + lane + 32] = hi;
      const float sum = warp_sum(lo + hi);
      __syncwarp();
      if (lane == 0) {
        keep[h] = factor;
        state[h] = {m, l0 * factor + sum};
      }
    }
    __syncthreads();
    if (threadIdx.x < a.K) {
#pragma unroll
      for (int h = 0; h < kMaxHeads; ++h)
        if (h < heads) acc[h] *= keep[h];
      for (int i = 0; i < count; ++i) {
        const float vi = widen(v[row_of(i) + threadIdx.x]);
#pragma unroll
        for (int h = 0; h < kMaxHeads; ++h)
          if (h < heads) acc[h] += p[h * kTile + i] * vi;
      }
    }
    __syncthreads();
  }
}

// total ← total joined with part.
__device__ void join(State& total, float& acc, State part, float part_acc) {
  const float m = fmaxf(total.m, part.m), keep = expf(total.m - m), take = expf(part.m - m);
  acc = acc * keep + part_acc * take;
  total = {m, total.l * keep + part.l * take};
}

// Grid (row, KV head, span or 1).
template <class T>
__global__ void __launch_bounds__(kThreads) attend_rows(AttendArgs a, bool split) {
  __shared__ float q[kMaxHeads * kMaxWidth], p[kMaxHeads * kTile];
  __shared__ State state[kMaxHeads], joined[kMaxHeads];
  const std::int64_t t = blockIdx.x, g = blockIdx.y, heads = a.H / a.G;
  const std::int64_t length = a.positions[t] + 1;
  const std::int32_t* table = a.block_tables + a.seq_of_row[t] * a.max_blocks;
  const std::int64_t first = split ? blockIdx.z : 0, spans = (length + kSpan - 1) / kSpan;
  if (first >= spans) return;
  for (int i = threadIdx.x; i < heads * a.K; i += kThreads)
    q[i / a.K * kMaxWidth + i % a.K] = a.q.row(t * a.H + g * heads + i / a.K)[i % a.K];
  float total[kMaxHeads];
  const std::int64_t last = split ? first + 1 : spans;
  for (std::int64_t span = first; span < last; ++span) {
    float acc[kMaxHeads] = {};
    __syncthreads();
    if (threadIdx.x < kMaxHeads) state[threadIdx.x] = {-INFINITY, 0.0f};
    __syncthreads();
    const std::int64_t s0 = span * kSpan;
    attend_span<T>(a, q, heads, g, table, s0, s0 + kSpan < length ? s0 + kSpan : length, acc, state, p);
    if (split) {
      float* out = a.states + ((t * a.H + g * heads) * gridDim.z + span) * (kMaxWidth + 2);
      for (int h = 0; h < heads; ++h, out += gridDim.z * (kMaxWidth + 2)) {
        if (threadIdx.x < a.K) {
#pragma unroll
          for (int i = 0; i < kMaxHeads; ++i)
            if (i == h) out[threadIdx.x] = acc[i];
        }
        if (threadIdx.x == 0) out[kMaxWidth] = state[h].m, out[kMaxWidth + 1] = state[h].l;
      }
      return;
    }
    if (span == 0) {
#pragma unroll
      for (int h = 0; h < kMaxHeads; ++h) total[h] = acc[h];
      if (threadIdx.x < kMaxHeads) joined[threadIdx.x] = state[threadIdx.x];
    } else {
#pragma unroll
      for (int h = 0; h < kMaxHeads; ++h)
        if (h < heads) {
          State own = joined[h];
          join(own, total[h], state[h], acc[h]);
        }
      __syncthreads();
      if (threadIdx.x < heads) {
        float unused = 0;
        join(joined[threadIdx.x], unused, state[threadIdx.x], 0.0f);
      }
    }
  }
  __syncthreads();
  if (threadIdx.x < a.K) {
#pragma unroll
    for (int h = 0; h < kMaxHeads; ++h)
      if (h < heads) a.out.row(t * a.H + g * heads + h)[threadIdx.x] = total[h] * (1.0f / joined[h].l);
  }
}

// Grid (row, head): the spans of a row, joined.
__global__ void attend_join(AttendArgs a, std::int64_t spans_of_grid) {
  const std::int64_t t = blockIdx.x, h = blockIdx.y, spans = (a.positions[t] + kSpan) / kSpan;
  const float* part = a.states + (t * a.H + h) * spans_of_grid * (kMaxWidth + 2);
  State total = {part[kMaxWidth], part[kMaxWidth + 1]};
  float acc = part[threadIdx.x];
  for (std::int64_t span = 1; span < spans; ++span) {
    part += kMaxWidth + 2;
    join(total, acc, {part[kMaxWidth], part[kMaxWidth + 1]}, part[threadIdx.x]);
  }
  if (threadIdx.x < a.K) a.out.row(t * a.H + h)[threadIdx.x] = acc * (1.0f / total.l);
}

template <class T>
void attend_typed(cudaStream_t s, const AttendArgs& a) {
  const auto spans = static_cast<unsigned>((a.max_blocks * a.block_tokens + kSpan - 1) / kSpan);
  const bool split = spans > 1 && a.T * spans <= kMaxParts;
  const dim3 grid(static_cast<unsigned>(a.T), static_cast<unsigned>(a.G), split ? spans : 1);
  attend_rows<T><<<grid, kThreads, 0, s>>>(a, split);
  HEARTH_CUDA(cudaGetLastError());
  if (!split) return;
  attend_join<<<dim3(static_cast<unsigned>(a.T), static_cast<unsigned>(a.H)), kMaxWidth, 0, s>>>(a, spans);
  HEARTH_CUDA(cudaGetLastError());
}

// Pairs (i, i + half), or (2i, 2i + 1) when adjacent.
__global__ void rope_rows(Rows x, const std::int32_t* positions, const float* inv_freq, std::int64_t rows,
                          std::int64_t heads, std::int64_t half, bool adjacent) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= rows * heads * half) return;
  const std::int64_t pair = i % half, row = i / half;
  float sin = 0, cos = 0;
  sincosf(static_cast<float>(positions[row / heads]) * inv_freq[pair], &sin, &cos);
  float* at = x.row(row) + (adjacent ? 2 * pair : pair);
  const std::int64_t step = adjacent ? 1 : half;
  const float a = at[0], b = at[step];
  at[0] = a * cos - b * sin;
  at[step] = b * cos + a * sin;
}

template <class T>
__global__ void write_rows(T* cache, Rows x, const std::int32_t* slots, std::int64_t count, std::int64_t G,
                           std::int64_t K) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= count) return;
  const std::int64_t row = i / K, d = i % K;  // row: (t, g)
  cache[(slots[row / G] * G + row % G) * K + d] = narrow<T>(x.row(row)[d]);
}

}  // namespace

std::int64_t attend_scratch(std::int64_t max_rows, std::int64_t H, std::int64_t max_positions) {
  const std::int64_t parts = max_rows * ((max_positions + kSpan - 1) / kSpan);
  return (parts < kMaxParts ? parts : kMaxParts) * H * (kMaxWidth + 2);
}

void attend(cudaStream_t s, const AttendArgs& args, DType cache_dtype) {
  if (args.T == 0) return;
  if (cache_dtype == DType::bf16)
    attend_typed<__nv_bfloat16>(s, args);
  else if (cache_dtype == DType::f16)
    attend_typed<__half>(s, args);
  else
    attend_typed<float>(s, args);
}

void rope(cudaStream_t s, Rows x, const std::int32_t* positions, const float* inv_freq, std::int64_t rows,
          std::int64_t heads, std::int64_t half, bool adjacent) {
  if (rows * heads * half == 0) return;
  rope_rows<<<blocks_for(rows * heads * half, kThreads), kThreads, 0, s>>>(x, positions, inv_freq, rows, heads, half,
                                                                           adjacent);
  HEARTH_CUDA(cudaGetLastError());
}

void write_cache(cudaStream_t s, void* cache, DType dtype, Rows x, const std::int32_t* slots, std::int64_t T,
                 std::int64_t G, std::int64_t K) {
  const std::int64_t count = T * G * K;
  if (count == 0) return;
  const unsigned blocks = blocks_for(count, kThreads);
  if (dtype == DType::bf16)
    write_rows<<<blocks, kThreads, 0, s>>>(static_cast<__nv_bfloat16*>(cache), x, slots, count, G, K);
  else if (dtype == DType::f16)
    write_rows<<<blocks, kThreads, 0, s>>>(static_cast<__half*>(cache), x, slots, count, G, K);
  else
    write_rows<<<blocks, kThreads, 0, s>>>(static_cast<float*>(cache), x, slots, count, G, K);
  HEARTH_CUDA(cudaGetLastError());
}

}  // namespace hearth::cuda
