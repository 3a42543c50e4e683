// Default bodies of the fused operations: one readable definition, made of primitive ones.
#include "compute/ops.h"

namespace hearth {

void Ops::add_rms_norm(Tensor out, Tensor r, Tensor m, Tensor w, float eps) {
  add(r, m);
  rms_norm(out, r, w, eps);
}

void Ops::linear_many(std::span<const Tensor> outs, Tensor x, std::span<const Matrix* const> ws,
                      std::span<const Tensor> biases) {
  for (std::size_t i = 0; i < outs.size(); ++i) linear(outs[i], x, *ws[i], biases.empty() ? Tensor{} : biases[i]);
}

}  // namespace hearth
