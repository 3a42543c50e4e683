// delta_net.h — the gated delta net between its projections: convolution, gates, the recurrence over the state.
//
// gated_delta_rule   a warp owns 8 columns of one head's state [Dk, Dv] in registers, a lane Dk / 4 numbers of one column, and
//                    walks the sequence's rows: no column needs another. Sums over Dk: Dk / 4 in order, then four lanes.
//                    Other head widths: a slower kernel with the state in memory.
#pragma once

#include "backend/cuda/kernels/matrix.h"
#include "backend/cuda/kernels/rows.h"

namespace hearth::cuda {

struct SequenceView {  // of a step
  const std::int32_t *positions, *seq_of_row, *cu_seqlens_q, *state_slots;
  std::int64_t T, B;
};

// out, u [T, C] rows; w [C, 4]; state [slots, 3, C].
void causal_conv1d(cudaStream_t s, float* out, Rows u, const float* w, float* state, std::int64_t C,
                   const SequenceView& q);

void gdn_gates(cudaStream_t s, float* g, float* beta, Rows a, Rows b, const float* a_log, const float* dt_bias,
               std::int64_t T, std::int64_t heads);

struct DeltaArgs {
  Rows y, q, k, v, g, beta;  // rows: y, v [T · Hv], q, k [T · Hk], g, beta [T]
  float* state;              // [slots, Hv, Dk, Dv]
  std::int64_t Hk, Hv, Dk, Dv;
  bool tiled;  // key head of value head h: h mod Hk, else h / (Hv / Hk)
};
void gated_delta_rule(cudaStream_t s, const DeltaArgs& args, const SequenceView& sequences);

// All of it for steps of one row a sequence, heads of 128: two launches. y, z rows [T] of Hv · 128; a, b rows [T] of Hv.
struct StepArgs {
  Rows y, z, a, b;
  const float *a_log, *dt_bias, *norm;
  float* state;
  const float* conv;  // [T, (2 Hk + Hv) · 128], set by delta_net_step
  std::int64_t Hk, Hv;
  float l2_eps, q_scale, norm_eps;
  bool tiled;
  PackedRows packed;  // of y
};
void delta_net_step(cudaStream_t s, const StepArgs& args, Rows u, const float* w, float* conv_state, float* conv,
                    const SequenceView& sequences);

}  // namespace hearth::cuda
