#include "nn/moe.h"

namespace hearth {

Moe bind_moe(Binder& b, const std::string& prefix, const MoeConfig& g) {
  Moe m;
  m.config = g;
  const std::int64_t D = g.hidden_size, F = g.intermediate_size;
  m.gate = bind_linear(b, prefix + "gate", g.num_experts, D);
  for (std::int64_t e = 0; e < g.num_experts; ++e) {
    const std::string expert = prefix + "experts." + std::to_string(e) + ".";
    m.experts.gate_proj.push_back(b.matrix(expert + "gate_proj.weight", F, D));
    m.experts.up_proj.push_back(b.matrix(expert + "up_proj.weight", F, D));
    m.experts.down_proj.push_back(b.matrix(expert + "down_proj.weight", D, F));
  }
  if (g.shared_intermediate_size > 0) {
    m.shared_expert = bind_mlp(b, prefix + "shared_expert.", D, g.shared_intermediate_size);
    m.shared_expert_gate = bind_linear(b, prefix + "shared_expert_gate", 1, D);
  }
  return m;
}

Tensor moe(const Ctx& c, const Moe& m, Tensor x) {
  Tensor out = c.make({x.dim(0), m.config.hidden_size});
  const auto scope = c.scope();
  Tensor logits = linear(c, m.gate, x);
  c.observe("router_logits", logits);
  c.moe_into(out, x, c.router_topk(logits, m.config.num_experts_per_tok, m.config.renormalise), m.experts);
  if (m.shared_expert) c.add_sigmoid_scaled(out, mlp(c, *m.shared_expert, x), linear(c, m.shared_expert_gate, x));
  return out;
}

}  // namespace hearth
