#include "backend/ref/ref_matrix.h"
#include "backend/ref/ref_ops.h"
#include "backend/ref/scratch.h"

namespace hearth {

void RefOps::linear(Tensor out, Tensor x, const Matrix& w, Tensor bias) {
  const std::int64_t T = x.dim(0), K = w.cols;
  const auto s = workspace_.lay_out<LinearScratch>(T, K);
  const std::span<float> row{s.row, static_cast<std::size_t>(K)};
  for (std::int64_t t = 0; t < T; ++t) activation(s.x + t * K, w, x.row<float>(t), s.fp8);
  for (std::int64_t n = 0; n < w.rows; ++n) {
    ref_matrix(w).widen_row(n, row);
    const double b = bias.data == nullptr ? 0.0 : bias.ptr<float>()[n];
    for (std::int64_t t = 0; t < T; ++t) out.row<float>(t)[n] = static_cast<float>(dot(row, s.x + t * K) + b);
  }
}

}  // namespace hearth
