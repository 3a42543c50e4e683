// add, silu_mul, sigmoid_mul, add_sigmoid_scaled, gather_rows: one number (or row) in, one out.
#include <cstring>

#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"

namespace hearth {

void RefOps::add(Tensor x, Tensor y) {
  for (std::int64_t i = 0; i < x.size(); ++i) x.ptr<float>()[i] += y.ptr<float>()[i];
}

void RefOps::silu_mul(Tensor out, Tensor gate, Tensor up) {
  for (std::int64_t i = 0; i < out.size(); ++i)
    out.ptr<float>()[i] = static_cast<float>(silu(gate.ptr<float>()[i]) * up.ptr<float>()[i]);
}

void RefOps::sigmoid_mul(Tensor out, Tensor x, Tensor gate) {
  for (std::int64_t r = 0; r < x.rows(); ++r) {
    const float* in = outer_row<float>(x, r);
    const float* g = outer_row<float>(gate, r);
    float* o = outer_row<float>(out, r);
    for (std::int64_t i = 0; i < x.dim(-1); ++i) o[i] = static_cast<float>(in[i] * sigmoid(g[i]));
  }
}

void RefOps::add_sigmoid_scaled(Tensor x, Tensor y, Tensor s) {
  for (std::int64_t t = 0; t < x.dim(0); ++t) {
    const double scale = sigmoid(s.row<float>(t)[0]);
    for (std::int64_t i = 0; i < x.dim(1); ++i)
      x.row<float>(t)[i] = static_cast<float>(x.row<float>(t)[i] + scale * y.row<float>(t)[i]);
  }
}

void RefOps::gather_rows(Tensor out, Tensor x, Tensor rows) {
  for (std::int64_t i = 0; i < rows.dim(0); ++i)
    std::memcpy(out.row<float>(i), x.row<float>(rows.ptr<std::int32_t>()[i]),
                static_cast<std::size_t>(x.dim(1)) * sizeof(float));
}

}  // namespace hearth
