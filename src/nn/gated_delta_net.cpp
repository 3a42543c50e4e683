#include "nn/gated_delta_net.h"

#include <cmath>

namespace hearth {
namespace {
constexpr float kL2Eps = 1e-6f;
}

GatedDeltaNet bind_gated_delta_net(Binder& b, const std::string& prefix, const GatedDeltaNetConfig& g,
                                   int state_index) {
  GatedDeltaNet n;
  n.config = g;
  const std::int64_t D = g.hidden_size, C = g.conv_channels(), values = g.num_v_heads * g.head_v_dim;
  n.in_proj_qkv = bind_linear(b, prefix + "in_proj_qkv", C, D);
  n.in_proj_z = bind_linear(b, prefix + "in_proj_z", values, D);
  n.in_proj_b = bind_linear(b, prefix + "in_proj_b", g.num_v_heads, D);
  n.in_proj_a = bind_linear(b, prefix + "in_proj_a", g.num_v_heads, D);
  n.conv1d = b.vector(prefix + "conv1d.weight", C * 4).view({C, 4});
  n.a_log = b.vector(prefix + "A_log", g.num_v_heads);
  n.dt_bias = b.vector(prefix + "dt_bias", g.num_v_heads);
  n.norm = bind_norm(b, prefix + "norm", g.head_v_dim, g.norm_eps, false);
  n.out_proj = bind_linear(b, prefix + "out_proj", D, values);
  n.state_index = state_index;
  return n;
}

Tensor gated_delta_net(const Ctx& c, const GatedDeltaNet& n, Tensor x, const StepInput& in, const StepCaches& caches) {
  const GatedDeltaNetConfig& g = n.config;
  const std::int64_t T = x.dim(0), keys = g.num_k_heads * g.head_k_dim, values = g.num_v_heads * g.head_v_dim;
  Tensor out = c.make({T, g.hidden_size});
  const auto scope = c.scope();

  const auto [u, z, b, a] =
      c.linear_many<4>(x, {&n.in_proj_qkv.weight, &n.in_proj_z.weight, &n.in_proj_b.weight, &n.in_proj_a.weight});
  const auto q_scale = static_cast<float>(1 / std::sqrt(static_cast<double>(g.head_k_dim)));
  if (!c.planning()) {
    const auto undo = c.scope();
    Tensor y = c.make({T, values});
    const DeltaNetParams params{n.conv1d,     n.a_log,      n.dt_bias, n.norm.weight, g.num_k_heads, g.num_v_heads,
                                g.head_k_dim, g.head_v_dim, kL2Eps,    q_scale,       n.norm.eps,    g.head_map};
    if (c.ops().delta_net_step(y, u, z, b, a, params, caches.conv_state_of(n.state_index),
                               caches.recurrent_state_of(n.state_index), in.batch)) {
      c.linear_into(out, y, n.out_proj.weight);
      return out;
    }
  }
  Tensor qkv = c.causal_conv1d(u, n.conv1d, caches.conv_state_of(n.state_index), in.batch);
  Tensor q = qkv.slice(1, 0, keys).heads(g.num_k_heads);
  Tensor k = qkv.slice(1, keys, 2 * keys).heads(g.num_k_heads);
  Tensor v = qkv.slice(1, 2 * keys, 2 * keys + values).heads(g.num_v_heads);
  c.l2_norm_in_place(q, kL2Eps, q_scale);
  c.l2_norm_in_place(k, kL2Eps, 1.0f);

  const Ctx::Gates gates = c.gdn_gates(a, b, n.a_log, n.dt_bias);
  Tensor y = c.gated_delta_rule(q, k, v, gates, caches.recurrent_state_of(n.state_index), g.head_map, in.batch);
  c.gated_rms_norm_in_place(y, z.heads(g.num_v_heads), n.norm.weight, n.norm.eps);
  c.linear_into(out, y.view({T, values}), n.out_proj.weight);
  return out;
}

}  // namespace hearth
