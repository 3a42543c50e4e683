// moe.h — mixture of experts: a router picks A of E small feed-forward blocks for each token; one more may be shared by all.
//
//   p = softmax(x · Wrouterᵀ)   S = the A largest   w_e = p_e / Σ_S p        (without the division when norm_topk_prob is off)
//   out = Σ_{e ∈ S} w_e · mlp_e(x)  (+ sigmoid(x · Wsharedᵀ) · mlp_shared(x))
//
// Shapes    x, out [T, D]; router [E, D]; experts [F, D], [F, D], [D, F]; shared gate [1, D]
// Source    Sparsely-gated mixture of experts, arXiv:1701.06538; Qwen3 technical report, arXiv:2505.09388
#pragma once

#include <optional>
#include <string>

#include "nn/mlp.h"

namespace hearth {

struct MoeConfig {
  std::int64_t hidden_size = 0, num_experts = 0, num_experts_per_tok = 0, intermediate_size = 0;
  std::int64_t shared_intermediate_size = 0;  // 0: no shared expert
  bool renormalise = true;
};

struct Moe {
  MoeConfig config;
  Linear gate;  // the router
  Experts experts;
  std::optional<Mlp> shared_expert;
  Linear shared_expert_gate;
};

Moe bind_moe(Binder& b, const std::string& prefix, const MoeConfig& config);
Tensor moe(const Ctx& c, const Moe& m, Tensor x);

}  // namespace hearth
