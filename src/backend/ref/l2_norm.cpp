#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"

namespace hearth {

void RefOps::l2_norm(Tensor out, Tensor x, float eps, float scale) {
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    const float* in = outer_row<float>(x, r);
    float* o = outer_row<float>(out, r);
    double sum = 0;
    for (std::int64_t i = 0; i < x.dim(-1); ++i) sum += static_cast<double>(in[i]) * in[i];
    const double factor = scale / std::sqrt(sum + static_cast<double>(eps));
    for (std::int64_t i = 0; i < x.dim(-1); ++i) o[i] = static_cast<float>(in[i] * factor);
  }
}

}  // namespace hearth
