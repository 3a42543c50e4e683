// Norms, gates and copies: one row at a time, rows shared among threads when there are enough.
#include "backend/cpu/cpu_ops_impl.h"

namespace hearth {

void CpuOps::rms_norm(Tensor out, Tensor x, Tensor w, float eps) {
  const std::int64_t n = x.dim(-1);
  each(x.rows(), n,
       [&](std::int64_t i) { kernels_.rms_norm(outer_row(out, i), outer_row(x, i), w.ptr<float>(), n, eps); });
}

void CpuOps::add_rms_norm(Tensor out, Tensor r, Tensor m, Tensor w, float eps) {
  const std::int64_t n = r.dim(-1);
  each(r.rows(), n, [&](std::int64_t i) {
    kernels_.add(outer_row(r, i), outer_row(m, i), n);
    kernels_.rms_norm(outer_row(out, i), outer_row(r, i), w.ptr<float>(), n, eps);
  });
}

void CpuOps::add(Tensor x, Tensor y) {
  each(x.rows(), x.dim(-1), [&](std::int64_t i) { kernels_.add(outer_row(x, i), outer_row(y, i), x.dim(-1)); });
}

void CpuOps::silu_mul(Tensor out, Tensor gate, Tensor up) {
  const std::int64_t n = out.dim(-1);
  each(out.rows(), 4 * n,
       [&](std::int64_t i) { kernels_.silu_mul(outer_row(out, i), outer_row(gate, i), outer_row(up, i), n); });
}

void CpuOps::sigmoid_mul(Tensor out, Tensor x, Tensor gate) {
  const std::int64_t n = out.dim(-1);
  each(out.rows(), 4 * n,
       [&](std::int64_t i) { kernels_.sigmoid_mul(outer_row(out, i), outer_row(x, i), outer_row(gate, i), n); });
}

void CpuOps::add_sigmoid_scaled(Tensor x, Tensor y, Tensor s) {
  const std::int64_t n = x.dim(-1);
  each(x.dim(0), n,
       [&](std::int64_t t) { kernels_.add_sigmoid_scaled(x.row<float>(t), y.row<float>(t), s.row<float>(t)[0], n); });
}

void CpuOps::gather_rows(Tensor out, Tensor x, Tensor rows) {
  for (std::int64_t i = 0; i < rows.dim(0); ++i)
    std::memcpy(out.row<float>(i), x.row<float>(rows.ptr<std::int32_t>()[i]),
                static_cast<std::size_t>(x.dim(1)) * sizeof(float));
}

void CpuOps::l2_norm(Tensor out, Tensor x, float eps, float scale) {
  const std::int64_t n = x.dim(-1);
  each(x.rows(), n, [&](std::int64_t i) { kernels_.l2_norm(outer_row(out, i), outer_row(x, i), n, eps, scale); });
}

void CpuOps::gated_rms_norm(Tensor out, Tensor x, Tensor z, Tensor w, float eps) {
  const std::int64_t n = x.dim(-1);
  each(x.rows(), 4 * n, [&](std::int64_t i) {
    kernels_.gated_rms_norm(outer_row(out, i), outer_row(x, i), outer_row(z, i), w.ptr<float>(), n, eps);
  });
}

}  // namespace hearth
