#include "backend/cuda/kernels/delta_net.h"

#include "backend/cuda/check.h"
#include "backend/cuda/kernels/delta_step.cuh"
#include "backend/cuda/kernels/pack_row.cuh"

namespace hearth::cuda {
namespace {

constexpr int kThreads = 256;

__global__ void conv_rows(float* out, Rows u, const float* w, const float* state, std::int64_t C, SequenceView s) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.T * C) return;
  const std::int64_t t = i / C, c = i % C, b = s.seq_of_row[t], begin = s.cu_seqlens_q[b];
  const bool fresh = s.positions[begin] == 0;
  const float* old = state + s.state_slots[b] * 3 * C + c;
  float x[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const std::int64_t at = t - 3 + j;
    x[j] = at >= begin ? u.row(at)[c] : fresh ? 0.0f : old[(at - begin + 3) * C];
  }
  out[t * C + c] = conv_number(x, w + c * 4);
}

// The last three inputs of each sequence; after conv_rows, which reads what this overwrites.
__global__ void conv_state(Rows u, float* state, std::int64_t C, SequenceView s) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.B * C) return;
  const std::int64_t b = i / C, c = i % C, begin = s.cu_seqlens_q[b], end = s.cu_seqlens_q[b + 1];
  if (begin == end) return;
  const bool fresh = s.positions[begin] == 0;
  float* at = state + s.state_slots[b] * 3 * C + c;
  float next[3];
#pragma unroll
  for (int j = 0; j < 3; ++j) {
    const std::int64_t row = end - 3 + j;
    next[j] = row >= begin ? u.row(row)[c] : fresh ? 0.0f : at[(row - begin + 3) * C];
  }
#pragma unroll
  for (int j = 0; j < 3; ++j) at[j * C] = next[j];
}

__global__ void gates(float* g, float* beta, Rows a, Rows b, const float* a_log, const float* dt_bias, std::int64_t T,
                      std::int64_t heads) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= T * heads) return;
  const std::int64_t t = i / heads, h = i % heads;
  g[i] = log_decay(a.row(t)[h], a_log[h], dt_bias[h]);
  beta[i] = sigmoid(b.row(t)[h]);
}

constexpr int kColumns = 8;  // of a warp

template <int kDepth>  // Dk / 4
__global__ void __launch_bounds__(32) delta_rule(DeltaArgs a, SequenceView s) {
  const int column = threadIdx.x / 4, part = threadIdx.x % 4;
  const std::int64_t dv = static_cast<std::int64_t>(blockIdx.x) * kColumns + column, h = blockIdx.y, b = blockIdx.z;
  const std::int64_t begin = s.cu_seqlens_q[b], end = s.cu_seqlens_q[b + 1];
  if (begin == end) return;
  const std::int64_t key_head = a.tiled ? h % a.Hk : h / (a.Hv / a.Hk);
  float* at = a.state + ((s.state_slots[b] * a.Hv + h) * a.Dk + part * kDepth) * a.Dv + dv;
  float S[kDepth];
  const bool fresh = s.positions[begin] == 0;
#pragma unroll
  for (int i = 0; i < kDepth; ++i) S[i] = fresh ? 0.0f : at[i * a.Dv];
  for (std::int64_t t = begin; t < end; ++t) {
    const float* k = a.k.row(t * a.Hk + key_head) + part * kDepth;
    const float* q = a.q.row(t * a.Hk + key_head) + part * kDepth;
    const float y = delta_token<kDepth>(S, k, q, a.g.row(t)[h], a.beta.row(t)[h], a.v.row(t * a.Hv + h)[dv]);
    if (part == 0) a.y.row(t * a.Hv + h)[dv] = y;
  }
#pragma unroll
  for (int i = 0; i < kDepth; ++i) at[i * a.Dv] = S[i];
}

// Any Dk and Dv: a lane a column, the state in memory.
__global__ void __launch_bounds__(32) delta_rule_any(DeltaArgs a, SequenceView s) {
  const std::int64_t dv = static_cast<std::int64_t>(blockIdx.x) * 32 + threadIdx.x, h = blockIdx.y, b = blockIdx.z;
  const std::int64_t begin = s.cu_seqlens_q[b], end = s.cu_seqlens_q[b + 1];
  if (begin == end || dv >= a.Dv) return;
  const std::int64_t key_head = a.tiled ? h % a.Hk : h / (a.Hv / a.Hk);
  float* S = a.state + (s.state_slots[b] * a.Hv + h) * a.Dk * a.Dv + dv;
  if (s.positions[begin] == 0)
    for (std::int64_t i = 0; i < a.Dk; ++i) S[i * a.Dv] = 0.0f;
  for (std::int64_t t = begin; t < end; ++t) {
    const float *k = a.k.row(t * a.Hk + key_head), *q = a.q.row(t * a.Hk + key_head);
    const float decay = expf(a.g.row(t)[h]), beta = a.beta.row(t)[h], v = a.v.row(t * a.Hv + h)[dv];
    float read = 0, y = 0;
    for (std::int64_t i = 0; i < a.Dk; ++i) {
      S[i * a.Dv] *= decay;
      read += S[i * a.Dv] * k[i];
    }
    const float update = beta * (v - read);
    for (std::int64_t i = 0; i < a.Dk; ++i) {
      S[i * a.Dv] += k[i] * update;
      y += S[i * a.Dv] * q[i];
    }
    a.y.row(t * a.Hv + h)[dv] = y;
  }
}

// One row a sequence: the convolution and its state.
__global__ void conv_step(float* out, Rows u, const float* w, float* state, std::int64_t C, SequenceView s) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i >= s.T * C) return;
  const std::int64_t t = i / C, c = i % C;
  float* at = state + s.state_slots[t] * 3 * C + c;
  const bool fresh = s.positions[t] == 0;
  const float x[4] = {fresh ? 0.0f : at[0], fresh ? 0.0f : at[C], fresh ? 0.0f : at[2 * C], u.row(t)[c]};
  out[t * C + c] = conv_number(x, w + c * 4);
#pragma unroll
  for (int j = 0; j < 3; ++j) at[j * C] = x[j + 1];
}

// One row a sequence, Dk = Dv = 128: a block a value head. Norms of q and k, gates, state, gated norm.
constexpr int kWidth = 128, kStepThreads = kWidth * 4;
__global__ void __launch_bounds__(kStepThreads) head_step(StepArgs a, SequenceView s) {
  __shared__ alignas(16) float q[kWidth], k[kWidth], y[kWidth];
  const int column = threadIdx.x / 4, part = threadIdx.x % 4, warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  constexpr int kDepth = kWidth / 4;
  const std::int64_t h = blockIdx.x, t = blockIdx.y, key_head = a.tiled ? h % a.Hk : h / (a.Hv / a.Hk);
  float* at = a.state + ((s.state_slots[t] * a.Hv + h) * kWidth + part * kDepth) * kWidth + column;
  const bool fresh = s.positions[t] == 0;
  float S[kDepth];
#pragma unroll
  for (int i = 0; i < kDepth; ++i) S[i] = fresh ? 0.0f : __ldcs(at + i * kWidth);
  const float* row = a.conv + t * (2 * a.Hk + a.Hv) * kWidth;
  if (warp < 2) {  // q, k
    const float* from = row + (warp * a.Hk + key_head) * kWidth;
    float v[kWidth / 32];
#pragma unroll
    for (int j = 0; j < kWidth / 32; ++j) v[j] = from[j * 32 + lane];
    const float factor = l2_factor(row_squares(v), a.l2_eps, warp == 0 ? a.q_scale : 1.0f);
#pragma unroll
    for (int j = 0; j < kWidth / 32; ++j) (warp == 0 ? q : k)[j * 32 + lane] = v[j] * factor;
  }
  __syncthreads();
  const float v = row[(2 * a.Hk + h) * kWidth + column];
  const float out = delta_token<kDepth>(S, k + part * kDepth, q + part * kDepth,
                                        log_decay(a.a.row(t)[h], a.a_log[h], a.dt_bias[h]), sigmoid(a.b.row(t)[h]), v);
  if (part == 0) y[column] = out;
#pragma unroll
  for (int i = 0; i < kDepth; ++i) __stcs(at + i * kWidth, S[i]);
  __syncthreads();
  if (warp != 0) return;
  float r[kWidth / 32];
#pragma unroll
  for (int j = 0; j < kWidth / 32; ++j) r[j] = y[j * 32 + lane];
  const float factor = rms_factor(row_squares(r), kWidth, a.norm_eps);
#pragma unroll
  for (int j = 0; j < kWidth / 32; ++j) {
    const int i = j * 32 + lane;
    y[i] = r[j] * factor * a.norm[i] * silu(a.z.row(t)[h * kWidth + i]);
    a.y.row(t)[h * kWidth + i] = y[i];
  }
  __syncwarp();
  const float four[4] = {y[4 * lane], y[4 * lane + 1], y[4 * lane + 2], y[4 * lane + 3]};
  pack_fp8(four, h, a.packed.fp8 + t * a.packed.fp8_tiles * kRowBytes, a.packed.scales + t * a.Hv);
  pack_bf16(four, h, a.packed.bf16 + t * a.packed.bf16_tiles * kRowBytes);
}

template <int kDepth>
void launch_delta(cudaStream_t s, const DeltaArgs& a, const SequenceView& q) {
  delta_rule<kDepth>
      <<<dim3(static_cast<unsigned>(a.Dv / kColumns), static_cast<unsigned>(a.Hv), static_cast<unsigned>(q.B)), 32, 0,
         s>>>(a, q);
}

}  // namespace

void causal_conv1d(cudaStream_t s, float* out, Rows u, const float* w, float* state, std::int64_t C,
                   const SequenceView& q) {
  if (q.T == 0) return;
  conv_rows<<<blocks_for(q.T * C, kThreads), kThreads, 0, s>>>(out, u, w, state, C, q);
  conv_state<<<blocks_for(q.B * C, kThreads), kThreads, 0, s>>>(u, state, C, q);
  HEARTH_CUDA(cudaGetLastError());
}

void gdn_gates(cudaStream_t s, float* g, float* beta, Rows a, Rows b, const float* a_log, const float* dt_bias,
               std::int64_t T, std::int64_t heads) {
  if (T == 0) return;
  gates<<<blocks_for(T * heads, kThreads), kThreads, 0, s>>>(g, beta, a, b, a_log, dt_bias, T, heads);
  HEARTH_CUDA(cudaGetLastError());
}

void gated_delta_rule(cudaStream_t s, const DeltaArgs& args, const SequenceView& sequences) {
  if (sequences.T == 0) return;
  switch (args.Dv % kColumns == 0 ? args.Dk : 0) {
    case 64:
      launch_delta<16>(s, args, sequences);
      break;
    case 128:
      launch_delta<32>(s, args, sequences);
      break;
    default:
      delta_rule_any<<<dim3(blocks_for(args.Dv, 32), static_cast<unsigned>(args.Hv),
                            static_cast<unsigned>(sequences.B)),
                       32, 0, s>>>(args, sequences);
  }
  HEARTH_CUDA(cudaGetLastError());
}

void delta_net_step(cudaStream_t s, const StepArgs& args, Rows u, const float* w, float* conv_state, float* conv,
                    const SequenceView& q) {
  const std::int64_t C = (2 * args.Hk + args.Hv) * kWidth;
  conv_step<<<blocks_for(q.T * C, kThreads), kThreads, 0, s>>>(conv, u, w, conv_state, C, q);
  StepArgs a = args;
  a.conv = conv;
  head_step<<<dim3(static_cast<unsigned>(a.Hv), static_cast<unsigned>(q.T)), kStepThreads, 0, s>>>(a, q);
  HEARTH_CUDA(cudaGetLastError());
}

}  // namespace hearth::cuda
