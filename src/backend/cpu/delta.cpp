// causal_conv1d, gdn_gates, gated_delta_rule: the recurrent layers.
#include <algorithm>

#include "backend/cpu/cpu_ops_impl.h"

namespace hearth {
namespace {

// Rows of sequence b, and whether it begins here.
struct Rows {
  std::int64_t begin, end, slot;
  bool fresh;
};
Rows rows_of(const Batch& batch, std::int64_t b) {
  const auto* cu = batch.cu_seqlens_q.ptr<std::int32_t>();
  Rows r{cu[b], cu[b + 1], batch.state_slots.ptr<std::int32_t>()[b], false};
  r.fresh = r.begin < r.end && batch.positions.ptr<std::int32_t>()[r.begin] == 0;
  return r;
}

}  // namespace

void CpuOps::causal_conv1d(Tensor out, Tensor u, Tensor w, Tensor state, const Batch& batch) {
  constexpr std::int64_t kChannels = 256;  // an item's share: its state and taps stay in the first-level cache
  const std::int64_t C = u.dim(1), B = batch.seq_lens.dim(0), groups = (C + kChannels - 1) / kChannels;
  const auto item = [&](std::int64_t i) {
    const Rows r = rows_of(batch, i / groups);
    if (r.begin == r.end) return;
    const std::int64_t c0 = i % groups * kChannels, n = std::min(kChannels, C - c0);
    float* s = state.row<float>(r.slot) + c0;  // row j at s + j · C
    if (r.fresh)
      for (int j = 0; j < 3; ++j) std::fill_n(s + j * C, n, 0.0f);
    // The row j before t: of this step, or of the state as it was.
    const auto before = [&](std::int64_t t, std::int64_t j) -> const float* {
      return t - j >= r.begin ? u.row<float>(t - j) + c0 : s + (3 + (t - j - r.begin)) * C;
    };
    for (std::int64_t t = r.begin; t < r.end; ++t) {
      const float* past[3] = {before(t, 3), before(t, 2), before(t, 1)};
      kernels_.conv_row(out.row<float>(t) + c0, past, u.row<float>(t) + c0, w.row<float>(c0), n);
    }
    for (std::int64_t j = 3; j >= 1; --j) {  // ascending rows of the state; each moves to a lower or the same index
      const float* from = before(r.end, j);
      float* to = s + (3 - j) * C;
      if (from != to) std::copy_n(from, n, to);
    }
  };
  each(B * groups, kChannels * std::max<std::int64_t>(4, 4 * u.dim(0) / std::max<std::int64_t>(B, 1)), item);
}

void CpuOps::gdn_gates(Tensor g, Tensor beta, Tensor a, Tensor b, Tensor a_log, Tensor dt_bias) {
  const std::int64_t n = a.dim(1);
  each(a.dim(0), 16 * n, [&](std::int64_t t) {
    kernels_.gdn_gates(g.row<float>(t), beta.row<float>(t), a.row<float>(t), b.row<float>(t), a_log.ptr<float>(),
                       dt_bias.ptr<float>(), n);
  });
}

void CpuOps::gated_delta_rule(Tensor y, Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, Tensor state, HeadMap map,
                              const Batch& batch) {
  constexpr std::int64_t kColumns = 64;  // columns are independent; 128 x 64 numbers of state fit the first-level cache
  const std::int64_t Hk = q.dim(1), Dk = q.dim(2), Hv = v.dim(1), Dv = v.dim(2);
  const std::int64_t slices = (Dv + kColumns - 1) / kColumns, B = batch.seq_lens.dim(0);
  pool_.run(B * Hv * slices, [&](std::int64_t item, int) {
    const Rows r = rows_of(batch, item / (Hv * slices));
    if (r.begin == r.end) return;
    const std::int64_t h = item / slices % Hv, c0 = item % slices * kColumns, n = std::min(kColumns, Dv - c0);
    const std::int64_t hk = map == HeadMap::grouped ? h / (Hv / Hk) : h % Hk;
    float* S = state.row<float>(r.slot) + h * Dk * Dv + c0;
    if (r.fresh)
      for (std::int64_t i = 0; i < Dk; ++i) std::fill_n(S + i * Dv, n, 0.0f);
    for (std::int64_t t = r.begin; t < r.end; ++t)
      kernels_.delta_step(y.row<float>(t, h) + c0, S, Dv, q.row<float>(t, hk), k.row<float>(t, hk),
                          v.row<float>(t, h) + c0, g.row<float>(t)[h], beta.row<float>(t)[h], Dk, n);
  });
}

}  // namespace hearth
