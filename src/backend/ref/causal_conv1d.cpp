#include <algorithm>

#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"

namespace hearth {

void RefOps::causal_conv1d(Tensor out, Tensor u, Tensor w, Tensor state, const Batch& batch) {
  const std::int64_t C = u.dim(1);
  for (std::int64_t b = 0; b < batch.seq_lens.dim(0); ++b) {
    const std::int64_t begin = batch.cu_seqlens_q.ptr<std::int32_t>()[b];
    const std::int64_t end = batch.cu_seqlens_q.ptr<std::int32_t>()[b + 1];
    if (begin == end) continue;
    float* s = state.row<float>(batch.state_slots.ptr<std::int32_t>()[b]);  // [3, C], oldest first
    if (batch.positions.ptr<std::int32_t>()[begin] == 0) std::fill(s, s + 3 * C, 0.0f);
    for (std::int64_t t = begin; t < end; ++t) {
      for (std::int64_t c = 0; c < C; ++c) {
        const float now = u.row<float>(t)[c];
        const float* tap = w.row<float>(c);
        double y = static_cast<double>(tap[3]) * now;
        for (std::int64_t j = 0; j < 3; ++j) y += static_cast<double>(tap[j]) * s[j * C + c];
        s[c] = s[C + c];
        s[C + c] = s[2 * C + c];
        s[2 * C + c] = now;
        out.row<float>(t)[c] = static_cast<float>(silu(y));
      }
    }
  }
}

}  // namespace hearth
