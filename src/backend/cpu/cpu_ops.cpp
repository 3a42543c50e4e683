#include "backend/cpu/cpu_ops.h"

#include <algorithm>

#include "backend/cpu/cpu_ops_impl.h"
#include "backend/cpu/isa.h"
#include "base/log.h"

namespace hearth {

CpuOps::CpuOps(const CpuOptions& options)
    : device_(make_host_device()),
      kernels_(choose_kernels(options.isa)),
      pool_(options.threads > 0 ? options.threads : default_num_threads()),
      workspace_(*device_),
      rope_memory_(*device_) {
  log_info("cpu: kernels={} threads={}", kernels_.name, pool_.size());
}

Matrix CpuOps::load_matrix(std::span<const StoredMatrix> parts) {
  auto m = pack(parts, *device_, pool_);
  const LayoutChoice choice = layout_for(parts[0].format);
  if (choice.expanded) {
    Expanded& e = expanded_[parts[0].format];
    ++e.matrices;
    e.stored += static_cast<std::size_t>(format_bytes(parts[0].format, m->cols) * m->rows);
    e.bytes += m->bytes;
  }
  if (!is_float(m->layout)) max_quantized_cols_ = std::max(max_quantized_cols_, m->cols);
  Matrix out;
  out.format = choice.format;
  out.rows = m->rows;
  out.cols = m->cols;
  out.bytes = m->bytes;
  out.impl = std::move(m);
  return out;
}

std::size_t CpuOps::plan_matrix(Format format, std::int64_t rows, std::int64_t cols) {
  const Layout layout = layout_for(format).layout;
  if (!is_float(layout)) max_quantized_cols_ = std::max(max_quantized_cols_, cols);
  const auto panels = static_cast<std::size_t>((rows + kPanelRows - 1) / kPanelRows);
  std::size_t bytes = panels * panel_bytes(layout, cols);
  if (layout == Layout::f8)
    bytes += panels * static_cast<std::size_t>((cols + kScaleBlock - 1) / kScaleBlock) * sizeof(float);
  return (bytes + 4095) / 4096 * 4096;  // a matrix has pages of its own
}

// Operations run one after the other: the largest of them.
std::size_t CpuOps::scratch_bytes(const StepShape& largest) const {
  return std::max({linear_scratch_bytes(largest, max_quantized_cols_), attention_scratch_bytes(largest, pool_.size()),
                   moe_scratch_bytes(largest, max_quantized_cols_ > 0)});
}

std::size_t CpuOps::workspace_bytes(const StepShape& largest) {
  return scratch_bytes(largest) + Workspace::bytes_of<RopeTable>(largest.tokens, largest.half_rotary);
}

void CpuOps::reserve(const StepShape& largest) {
  for (const auto& [format, e] : expanded_) {
    const LayoutChoice choice = layout_for(format);
    log_info("cpu: {} matrices of {} are expanded to {}: {:.1f} MiB instead of {:.1f}", e.matrices,
             format_info(format).name,
             choice.layout == Layout::q8_f32 ? "bytes with f32 scales" : format_info(choice.format).name,
             static_cast<double>(e.bytes) / (1 << 20), static_cast<double>(e.stored) / (1 << 20));
  }
  expanded_.clear();
  workspace_.reserve(scratch_bytes(largest));
  rope_.reset();
  rope_memory_.reserve(Workspace::bytes_of<RopeTable>(largest.tokens, largest.half_rotary));
}

std::unique_ptr<Ops> make_cpu_ops(const CpuOptions& options) { return std::make_unique<CpuOps>(options); }

}  // namespace hearth
