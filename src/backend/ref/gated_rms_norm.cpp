#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"

namespace hearth {

void RefOps::gated_rms_norm(Tensor out, Tensor x, Tensor z, Tensor w, float eps) {
  const std::int64_t n = x.dim(-1);
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    const float *in = outer_row<float>(x, r), *gate = outer_row<float>(z, r);
    float* o = outer_row<float>(out, r);
    double sum = 0;
    for (std::int64_t i = 0; i < n; ++i) sum += static_cast<double>(in[i]) * in[i];
    const double scale = 1 / std::sqrt(sum / static_cast<double>(n) + static_cast<double>(eps));
    for (std::int64_t i = 0; i < n; ++i) o[i] = static_cast<float>(in[i] * scale * w.ptr<float>()[i] * silu(gate[i]));
  }
}

}  // namespace hearth
