#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"

namespace hearth {

void RefOps::gdn_gates(Tensor g, Tensor beta, Tensor a, Tensor b, Tensor a_log, Tensor dt_bias) {
  for (std::int64_t t = 0; t < a.dim(0); ++t)
    for (std::int64_t h = 0; h < a.dim(1); ++h) {
      const double rate = std::exp(static_cast<double>(a_log.ptr<float>()[h]));
      const double step = softplus(static_cast<double>(a.row<float>(t)[h]) + dt_bias.ptr<float>()[h]);
      g.row<float>(t)[h] = static_cast<float>(-rate * step);
      beta.row<float>(t)[h] = static_cast<float>(sigmoid(b.row<float>(t)[h]));
    }
}

}  // namespace hearth
