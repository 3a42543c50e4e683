#include <algorithm>

#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"
#include "backend/ref/scratch.h"

namespace hearth {

void RefOps::router_topk(Tensor weights, Tensor ids, Tensor logits, bool renormalise) {
  const std::int64_t E = logits.dim(1), A = ids.dim(1);
  const auto [order, taken] =
      workspace_.lay_out<RouterScratch>(A, E);  // the A largest, descending; ties: the lower index
  for (std::int64_t t = 0; t < logits.dim(0); ++t) {
    const float* x = logits.row<float>(t);
    std::fill_n(taken, E, false);
    for (std::int64_t a = 0; a < A; ++a) {
      std::int32_t best = -1;
      for (std::int32_t e = 0; e < E; ++e)
        if (!taken[e] && (best < 0 || x[e] > x[best])) best = e;
      taken[best] = true;
      order[a] = best;
    }
    const double largest = x[order[0]];
    double all = 0, chosen = 0;
    for (std::int64_t e = 0; e < E; ++e) all += std::exp(x[e] - largest);
    for (std::int64_t a = 0; a < A; ++a) chosen += std::exp(x[order[a]] - largest);
    for (std::int64_t a = 0; a < A; ++a) {
      const std::int32_t e = order[a];
      ids.row<std::int32_t>(t)[a] = e;
      weights.row<float>(t)[a] = static_cast<float>(std::exp(x[e] - largest) / (renormalise ? chosen : all));
    }
  }
}

}  // namespace hearth
