// router.h — which experts a row goes to, and which rows an expert gets.
#pragma once

#include "backend/cuda/kernels/rows.h"

namespace hearth::cuda {

// Softmax over E, the A largest (ties: the lower index), divided by their sum if renormalise. A warp a row; E at most 1,024.
void router_topk(cudaStream_t s, float* weights, std::int32_t* ids, Rows logits, std::int64_t T, std::int64_t E,
                 std::int64_t A, bool renormalise);

// Entries (t, a) of ids [T · A] in order of expert, within an expert in order of row.
//   begin [E + 1]   an expert's entries are order[begin[e]] … order[begin[e + 1] − 1]
void group_by_expert(cudaStream_t s, const std::int32_t* ids, std::int64_t entries, std::int64_t E, std::int32_t* begin,
                     std::int32_t* order);

// out[t] = Σ_a weights[t, a] · part[t · A + a], in ascending expert id.
void add_experts(cudaStream_t s, float* out, const float* part, const float* weights, const std::int32_t* ids,
                 std::int64_t T, std::int64_t A, std::int64_t D);

}  // namespace hearth::cuda
