#include <algorithm>

#include "backend/ref/ref_matrix.h"
#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"
#include "backend/ref/scratch.h"

namespace hearth {
namespace {

void widen(float* out, const Matrix& m) {  // the whole matrix, row-major
  for (std::int64_t r = 0; r < m.rows; ++r)
    ref_matrix(m).widen_row(r, {out + r * m.cols, static_cast<std::size_t>(m.cols)});
}

}  // namespace

void RefOps::moe(Tensor out, Tensor x, Tensor weights, Tensor ids, const Experts& experts) {
  const std::int64_t T = x.dim(0), D = x.dim(1), A = ids.dim(1);
  const auto num_experts = static_cast<std::int64_t>(experts.gate_proj.size());
  const std::int64_t F = experts.gate_proj.front().rows;
  const auto s = workspace_.lay_out<ExpertScratch>(T, D, F);
  std::fill_n(s.sum, T * D, 0.0);
  const auto d = static_cast<std::size_t>(D), f = static_cast<std::size_t>(F);
  for (std::int64_t e = 0; e < num_experts; ++e) {  // ascending expert id: the order in which a row's sum is made
    const auto i = static_cast<std::size_t>(e);
    bool widened = false;
    for (std::int64_t t = 0; t < T; ++t)
      for (std::int64_t a = 0; a < A; ++a) {
        if (ids.row<std::int32_t>(t)[a] != e) continue;
        if (!widened) {
          widen(s.gate, experts.gate_proj[i]);
          widen(s.up, experts.up_proj[i]);
          widen(s.down, experts.down_proj[i]);
          widened = true;
        }
        activation(s.x, experts.gate_proj[i], x.row<float>(t), s.fp8);
        for (std::int64_t n = 0; n < F; ++n) {
          const auto gn = static_cast<float>(dot({s.gate + n * D, d}, s.x));
          const auto un = static_cast<float>(dot({s.up + n * D, d}, s.x));
          s.act[n] = static_cast<float>(silu(gn) * un);
        }
        activation(s.act_in, experts.down_proj[i], s.act, s.fp8);
        for (std::int64_t n = 0; n < D; ++n)
          s.sum[t * D + n] += weights.row<float>(t)[a] * dot({s.down + n * F, f}, s.act_in);
      }
  }
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t n = 0; n < D; ++n) out.row<float>(t)[n] = static_cast<float>(s.sum[t * D + n]);
}

}  // namespace hearth
