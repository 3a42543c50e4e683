#include <vector>

#include "backend/ref/ref_matrix.h"
#include "backend/ref/ref_ops.h"

namespace hearth {

void RefOps::linear(Tensor out, Tensor x, const Matrix& w, Tensor bias) {
  std::vector<float> row(static_cast<std::size_t>(w.cols));
  std::vector<std::vector<float>> in;
  for (std::int64_t t = 0; t < x.dim(0); ++t) in.push_back(activation(w, x.row<float>(t)));
  for (std::int64_t n = 0; n < w.rows; ++n) {
    ref_matrix(w).widen_row(n, row);
    const double b = bias.data == nullptr ? 0.0 : bias.ptr<float>()[n];
    for (std::int64_t t = 0; t < x.dim(0); ++t)
      out.row<float>(t)[n] = static_cast<float>(dot(row, in[static_cast<std::size_t>(t)].data()) + b);
  }
}

}  // namespace hearth
