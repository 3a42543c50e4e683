// gated_delta_net.h — linear attention with a recurrent state: short convolution, gated delta rule, gated norm.
//
//   u = x · Wqkvᵀ   z = x · Wzᵀ   b = x · Wbᵀ   a = x · Waᵀ
//   [q | k | v] = silu(causal_conv1d(u))             Hk heads of Dk, Hk of Dk, Hv of Dv
//   q = l2_norm(q) / √Dk    k = l2_norm(k)           ε = 1e-6 inside the root, whatever the configuration says
//   beta = sigmoid(b)    g = −exp(A_log) · softplus(a + dt_bias)
//   S ← e^g S;  S ← S + k (beta (v − Sᵀ k))ᵀ;  y = Sᵀ q
//   out = (rms_norm(y) ⊙ silu(z)) · Woutᵀ            norm per head with plain weight
//
// Shapes    x, out [T, D]; per sequence and layer the state is [3, 2·Hk·Dk + Hv·Dv] and [Hv, Dk, Dv], both f32
// Source    Gated Delta Networks, arXiv:2412.06464
#pragma once

#include <string>

#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/step_input.h"

namespace hearth {

struct GatedDeltaNetConfig {
  std::int64_t hidden_size = 0, num_k_heads = 0, num_v_heads = 0, head_k_dim = 0, head_v_dim = 0;
  float norm_eps = 0;
  HeadMap head_map = HeadMap::grouped;

  std::int64_t conv_channels() const { return 2 * num_k_heads * head_k_dim + num_v_heads * head_v_dim; }
};

struct GatedDeltaNet {
  GatedDeltaNetConfig config;
  Linear in_proj_qkv, in_proj_z, in_proj_b, in_proj_a, out_proj;
  Tensor conv1d;          // [C, 4]
  Tensor a_log, dt_bias;  // [Hv]
  Norm norm;              // [Dv]
  int state_index = 0;    // which conv and recurrent state
};

GatedDeltaNet bind_gated_delta_net(Binder& b, const std::string& prefix, const GatedDeltaNetConfig& config,
                                   int state_index);
Tensor gated_delta_net(const Ctx& c, const GatedDeltaNet& n, Tensor x, const StepInput& in, const StepCaches& caches);

}  // namespace hearth
