#include <vector>

#include "backend/ref/ref_matrix.h"
#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"

namespace hearth {
namespace {

std::vector<float> widen(const Matrix& m) {  // the whole matrix, row-major
  std::vector<float> out(static_cast<std::size_t>(m.rows * m.cols));
  for (std::int64_t r = 0; r < m.rows; ++r)
    ref_matrix(m).widen_row(r, {out.data() + r * m.cols, static_cast<std::size_t>(m.cols)});
  return out;
}

}  // namespace

void RefOps::moe(Tensor out, Tensor x, Tensor weights, Tensor ids, const Experts& experts) {
  const std::int64_t T = x.dim(0), D = x.dim(1), A = ids.dim(1);
  const auto num_experts = static_cast<std::int64_t>(experts.gate_proj.size());
  const std::int64_t F = experts.gate_proj.front().rows;
  std::vector<double> sum(static_cast<std::size_t>(T * D), 0.0);
  std::vector<float> act(static_cast<std::size_t>(F));
  const auto d = static_cast<std::size_t>(D), f = static_cast<std::size_t>(F);
  for (std::int64_t e = 0; e < num_experts; ++e) {  // ascending expert id: the order in which a row's sum is made
    const auto i = static_cast<std::size_t>(e);
    std::vector<float> gate, up, down;
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t a = 0; a < A; ++a) {
        if (ids.row<std::int32_t>(t)[a] != e) continue;
        if (gate.empty())
          gate = widen(experts.gate_proj[i]), up = widen(experts.up_proj[i]), down = widen(experts.down_proj[i]);
        const std::vector<float> xt = activation(experts.gate_proj[i], x.row<float>(t));
        for (std::size_t n = 0; n < f; ++n) {
          const auto gn = static_cast<float>(dot({gate.data() + n * d, d}, xt.data()));
          const auto un = static_cast<float>(dot({up.data() + n * d, d}, xt.data()));
          act[n] = static_cast<float>(silu(gn) * un);
        }
        const std::vector<float> at = activation(experts.down_proj[i], act.data());
        for (std::size_t n = 0; n < d; ++n)
          sum[static_cast<std::size_t>(t) * d + n] +=
              weights.row<float>(t)[a] * dot({down.data() + n * f, f}, at.data());
      }
  }
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t n = 0; n < D; ++n)
      out.row<float>(t)[n] = static_cast<float>(sum[static_cast<std::size_t>(t * D + n)]);
}

}  // namespace hearth
