// What steps need beside their tensors, planned from the largest step and taken before "ready".
#include <fmt/format.h>

#include <algorithm>

#include "backend/cuda/cuda_ops_impl.h"
#include "backend/cuda/kernels/attention.h"
#include "base/log.h"
#include "base/status.h"
#include "quant/format.h"

namespace hearth {

template <class Visit>
void CudaOps::each_scratch(const StepShape& l, Visit visit) {
  const std::int64_t T = l.tokens, entries = T * l.active_experts;
  const auto row_bytes = [](std::int64_t cols) {  // of a packed row, in the larger form
    return cuda::tiles_across(cuda::Kind::bf16, cols) * cuda::kRowBytes;
  };
  const auto row_scales = [](std::int64_t cols) { return cuda::tiles_across(cuda::Kind::fp8, cols) / 4; };
  const auto numbers = [](std::int64_t n) { return n * std::int64_t{sizeof(float)}; };
  visit(x_q_, std::max(T * row_bytes(l.linear_cols), entries * row_bytes(l.expert_width)));
  visit(x_scales_, numbers(std::max(T * row_scales(l.linear_cols), entries * row_scales(l.expert_width))));
  for (Beside& b : beside_) {
    visit(b.fp8, T * row_bytes(l.linear_cols));
    visit(b.bf16, T * row_bytes(l.linear_cols));
    visit(b.scales, numbers(T * row_scales(l.linear_cols)));
  }
  visit(attention_, numbers(cuda::attend_scratch(T, l.heads, l.context)));
  visit(conv_, numbers(std::min(T, l.sequences) * l.conv_channels));
  if (l.experts == 0) return;
  const std::int64_t half = cuda::tiles_down(l.expert_width) * cuda::kTileRows;
  visit(begin_, (l.experts + 1) * std::int64_t{sizeof(std::int32_t)});
  visit(order_, entries * std::int64_t{sizeof(std::int32_t)});
  visit(gate_up_, numbers(entries * 2 * half));
  visit(act_, numbers(entries * half));
  visit(down_, numbers(entries * l.moe_hidden));
}

std::size_t CudaOps::workspace_bytes(const StepShape& largest) {
  std::int64_t sum = 0;
  each_scratch(largest, [&](Scratch&, std::int64_t bytes) { sum += bytes; });
  return static_cast<std::size_t>(sum);
}

void CudaOps::reserve(const StepShape& largest) {
  const auto at_most = [](std::int64_t found, std::int64_t most, const char* what) {
    if (found > most)
      throw StartupError(fmt::format("{} {}, and the CUDA kernels take at most {}", found, what, most), "--device cuda",
                         "use --device cpu");
  };
  at_most(largest.heads_per_kv_head, 16, "query heads share a KV head");
  at_most(largest.head_dim, 256, "numbers make a head");
  at_most(largest.experts, 1024, "experts are in a layer");
  at_most(largest.active_experts, 32, "experts are active");
  reserved_ = false;
  each_scratch(largest, [&](Scratch& s, std::int64_t bytes) { s.get<std::byte>(*this, bytes); });
  reserved_ = true;
  staging_ = {};
  for (const auto& [format, w] : widened_)
    log_info("cuda: {} matrices of {} are widened to f32: {:.1f} MiB become {:.1f}", w.matrices,
             format_info(format).name, static_cast<double>(w.stored) / (1 << 20),
             static_cast<double>(w.bytes) / (1 << 20));
  widened_.clear();
}

}  // namespace hearth
