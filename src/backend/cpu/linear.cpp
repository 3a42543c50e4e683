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
struct LinearScratch {
  const void **x_rows, **xq_rows;
  float** out_rows;
  GemmJob* jobs;
  std::int64_t* job_end;
  std::byte* quantized;
  LinearScratch(Arena& a, std::int64_t rows, std::int64_t outs, std::int64_t quantized_cols)
      : x_rows(a.take<const void*>(rows)),
        xq_rows(a.take<const void*>(rows)),
        out_rows(a.take<float*>(outs * rows)),
        jobs(a.take<GemmJob>(outs)),
        job_end(a.take<std::int64_t>(outs)),
        quantized(quantized_cols > 0 ? a.take<std::byte>(rows * static_cast<std::int64_t>(q_stride(quantized_cols)))
                                     : nullptr) {}
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

std::size_t linear_scratch_bytes(const StepShape& largest, std::int64_t quantized_cols) {
  return Workspace::bytes_of<LinearScratch>(largest.tokens, largest.linear_outs, quantized_cols);
}

void CpuOps::run_jobs(std::span<const GemmJob> jobs, std::int64_t* job_end) {
  std::int64_t items = 0;
  for (std::size_t j = 0; j < jobs.size(); ++j) {  // job_end[j]: items up to and with job j
    const Cut c = cut(jobs[j]);
    job_end[j] = items += c.panel_groups * c.row_groups;
  }
  pool_.run(items, [&](std::int64_t item, int) {
    const auto j = static_cast<std::size_t>(std::upper_bound(job_end, job_end + jobs.size(), item) - job_end);
    const GemmJob& job = jobs[j];
    const Cut c = cut(job);
    const std::int64_t i = item - (j > 0 ? job_end[j - 1] : 0);
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

void CpuOps::quantize_rows(std::byte* to, const float* const* rows, std::int64_t count, std::int64_t cols) {
  const std::size_t stride = q_stride(cols);
  each(count, cols, [&](std::int64_t i) {
    kernels_.quantize(rows[i], cols, reinterpret_cast<QBlock*>(to + static_cast<std::size_t>(i) * stride));
  });
}

void CpuOps::linear_many(std::span<const Tensor> outs, Tensor x, std::span<const Matrix* const> ws,
                         std::span<const Tensor> biases) {
  const std::int64_t T = x.dim(0), K = x.dim(1);
  if (T == 0) return;
  const auto num_outs = static_cast<std::int64_t>(outs.size());
  const bool quantized =
      std::any_of(ws.begin(), ws.end(), [](const Matrix* w) { return !is_float(packed(*w).layout); });
  const auto s = workspace_.lay_out<LinearScratch>(T, num_outs, quantized ? K : 0);
  for (std::int64_t t = 0; t < T; ++t) s.x_rows[t] = x.row<float>(t);
  if (quantized) {
    quantize_rows(s.quantized, reinterpret_cast<const float* const*>(s.x_rows), T, K);
    for (std::int64_t t = 0; t < T; ++t) s.xq_rows[t] = s.quantized + static_cast<std::size_t>(t) * q_stride(K);
  }
  for (std::int64_t i = 0; i < num_outs; ++i) {
    const auto at = static_cast<std::size_t>(i);
    for (std::int64_t t = 0; t < T; ++t) s.out_rows[i * T + t] = outs[at].row<float>(t);
    const PackedMatrix& w = packed(*ws[at]);
    const float* bias = at < biases.size() ? biases[at].ptr<const float>() : nullptr;
    s.jobs[i] = {&w, is_float(w.layout) ? s.x_rows : s.xq_rows, s.out_rows + i * T, T, bias};
  }
  run_jobs({s.jobs, outs.size()}, s.job_end);
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
