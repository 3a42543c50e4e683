#include <algorithm>

#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"
#include "backend/ref/scratch.h"

namespace hearth {

void RefOps::gated_delta_rule(Tensor y, Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, Tensor state, HeadMap map,
                              const Batch& batch) {
  const std::int64_t Hk = q.dim(1), Dk = q.dim(2), Hv = v.dim(1), Dv = v.dim(2);
  const auto [read, delta] = workspace_.lay_out<DeltaScratch>(Dv);
  for (std::int64_t b = 0; b < batch.seq_lens.dim(0); ++b) {
    const std::int64_t begin = batch.cu_seqlens_q.ptr<std::int32_t>()[b];
    const std::int64_t end = batch.cu_seqlens_q.ptr<std::int32_t>()[b + 1];
    if (begin == end) continue;
    float* slot = state.row<float>(batch.state_slots.ptr<std::int32_t>()[b]);
    if (batch.positions.ptr<std::int32_t>()[begin] == 0) std::fill(slot, slot + Hv * Dk * Dv, 0.0f);
    for (std::int64_t h = 0; h < Hv; ++h) {
      float* S = slot + h * Dk * Dv;  // [Dk, Dv]
      const std::int64_t hk = map == HeadMap::grouped ? h / (Hv / Hk) : h % Hk;
      for (std::int64_t t = begin; t < end; ++t) {
        const float *qt = q.row<float>(t, hk), *kt = k.row<float>(t, hk), *vt = v.row<float>(t, h);
        const double decay = std::exp(static_cast<double>(g.row<float>(t)[h]));
        // delta_j = beta (v_j − Σ_i decay S_ij k_i)
        std::fill_n(read, Dv, 0.0);
        for (std::int64_t i = 0; i < Dk; ++i)
          for (std::int64_t j = 0; j < Dv; ++j) read[j] += decay * S[i * Dv + j] * kt[i];
        for (std::int64_t j = 0; j < Dv; ++j) delta[j] = beta.row<float>(t)[h] * (vt[j] - read[j]);
        // S_ij ← decay S_ij + k_i delta_j ;  y_j = Σ_i S_ij q_i, of the state as it is stored
        std::fill_n(read, Dv, 0.0);
        for (std::int64_t i = 0; i < Dk; ++i)
          for (std::int64_t j = 0; j < Dv; ++j) {
            float& s = S[i * Dv + j];
            s = static_cast<float>(decay * s + kt[i] * delta[j]);
            read[j] += static_cast<double>(s) * qt[i];
          }
        for (std::int64_t j = 0; j < Dv; ++j) y.row<float>(t, h)[j] = static_cast<float>(read[j]);
      }
    }
  }
}

}  // namespace hearth
