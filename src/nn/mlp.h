// mlp.h — the gated feed-forward block: out = (silu(x · Wgateᵀ) ⊙ (x · Wupᵀ)) · Wdownᵀ.
//
// Shapes    x, out [T, D]; gate, up [F, D]; down [D, F]
// Source    GLU Variants Improve Transformer, arXiv:2002.05202
#pragma once

#include <string>

#include "nn/linear.h"

namespace hearth {

struct Mlp {
  Linear gate_proj, up_proj, down_proj;
};

inline Mlp bind_mlp(Binder& b, const std::string& prefix, std::int64_t D, std::int64_t F) {
  return {bind_linear(b, prefix + "gate_proj", F, D), bind_linear(b, prefix + "up_proj", F, D),
          bind_linear(b, prefix + "down_proj", D, F)};
}

inline Tensor mlp(const Ctx& c, const Mlp& m, Tensor x) {
  Tensor out = c.make({x.dim(0), m.down_proj.weight.rows});
  const auto scope = c.scope();
  const auto [gate, up] = c.linear_many<2>(x, {&m.gate_proj.weight, &m.up_proj.weight});
  c.linear_into(out, c.silu_mul(gate, up), m.down_proj.weight);
  return out;
}

}  // namespace hearth
