// embed, linear, linear_many: products with packed matrices.
#include <algorithm>

#include "backend/cpu/cpu_ops_impl.h"

namespace hearth {
namespace {

// How a job is cut into items: groups of panels times groups of rows. Small enough to balance, large enough to be worth a
// claim; rows in groups whose quantised form stays in the second-level cache while the panels go by.
constexpr std::size_t kItemBytes = 16 << 10;
constexpr std::int64_t kItemRows = 128;

struct Cut {
  std::int64_t panels, rows;  // an item
  std::int64_t panel_groups, row_groups;
};
Cut cut(const GemmJob& job) {
  Cut c{};
  const auto panels = static_cast<std::int64_t>(kItemBytes / std::max<std::size_t>(job.w->panel_bytes, 1));
  c.panels = std::max<std::int64_t>(1, panels);
  if (is_float(job.w->layout) && c.panels == 1) c.panels = 2;  // float kernels take panels in pairs
  c.rows = kItemRows;
  c.panel_groups = (job.w->num_panels + c.panels - 1) / c.panels;
  c.row_groups = (job.rows + c.rows - 1) / c.rows;
  return c;
}

}  // namespace

void CpuOps::run_jobs(std::span<const GemmJob> jobs) {
  job_end_.clear();
  std::int64_t items = 0;
  for (const GemmJob& job : jobs) {
    const Cut c = cut(job);
    job_end_.push_back(items += c.panel_groups * c.row_groups);
  }
  pool_.run(items, [&](std::int64_t item, int) {
    const auto j =
        static_cast<std::size_t>(std::upper_bound(job_end_.begin(), job_end_.end(), item) - job_end_.begin());
    const GemmJob& job = jobs[j];
    const Cut c = cut(job);
    const std::int64_t i = item - (j > 0 ? job_end_[j - 1] : 0);
    const std::int64_t p0 = i / c.row_groups * c.panels, r0 = i % c.row_groups * c.rows;
    GemmArgs a;
    a.panels = job.w->panels;
    a.panel_bytes = job.w->panel_bytes;
    a.p0 = p0;
    a.p1 = std::min(p0 + c.panels, job.w->num_panels);
    a.n = job.w->rows;
    a.k = job.w->cols;
    a.x = job.x + r0;
    a.out = job.out + r0;
    a.rows = std::min(c.rows, job.rows - r0);
    a.bias = job.bias;
    a.scales = job.w->scales;
    a.scale_lanes = job.w->scale_lanes;
    kernels_.gemm[static_cast<int>(job.w->layout)](a);
  });
}

std::byte* CpuOps::quantize_rows(Scratch& scratch, const float* const* rows, std::int64_t count, std::int64_t cols) {
  const std::size_t stride = q_stride(cols);
  auto* base = scratch.get<std::byte>(*device_, static_cast<std::size_t>(count) * stride);
  each(count, cols, [&](std::int64_t i) {
    kernels_.quantize(rows[i], cols, reinterpret_cast<QBlock*>(base + static_cast<std::size_t>(i) * stride));
  });
  return base;
}

void CpuOps::linear_many(std::span<const Tensor> outs, Tensor x, std::span<const Matrix* const> ws,
                         std::span<const Tensor> biases) {
  const std::int64_t T = x.dim(0), K = x.dim(1);
  if (T == 0) return;
  x_rows_.clear();
  for (std::int64_t t = 0; t < T; ++t) x_rows_.push_back(x.row<float>(t));
  const bool quantized =
      std::any_of(ws.begin(), ws.end(), [](const Matrix* w) { return !is_float(packed(*w).layout); });
  if (quantized) {
    const std::byte* base = quantize_rows(x_quantized_, reinterpret_cast<const float* const*>(x_rows_.data()), T, K);
    xq_rows_.clear();
    for (std::int64_t t = 0; t < T; ++t) xq_rows_.push_back(base + static_cast<std::size_t>(t) * q_stride(K));
  }
  out_rows_.clear();
  for (const Tensor& out : outs)
    for (std::int64_t t = 0; t < T; ++t) out_rows_.push_back(out.row<float>(t));
  jobs_.clear();
  for (std::size_t i = 0; i < ws.size(); ++i) {
    const PackedMatrix& w = packed(*ws[i]);
    const float* bias = i < biases.size() ? biases[i].ptr<const float>() : nullptr;
    jobs_.push_back({&w, is_float(w.layout) ? x_rows_.data() : xq_rows_.data(),
                     out_rows_.data() + static_cast<std::int64_t>(i) * T, T, bias});
  }
  run_jobs(jobs_);
}

void CpuOps::linear(Tensor out, Tensor x, const Matrix& w, Tensor bias) {
  const Matrix* ws[] = {&w};
  linear_many({&out, 1}, x, ws, {&bias, 1});
}

void CpuOps::embed(Tensor out, Tensor ids, const Matrix& table) {
  each(ids.dim(0), 4 * table.cols,
       [&](std::int64_t t) { unpack_row(packed(table), ids.ptr<std::int32_t>()[t], out.row<float>(t)); });
}

}  // namespace hearth
