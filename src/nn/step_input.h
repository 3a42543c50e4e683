// step_input.h — what one forward pass is given. Prefill, decode and mixtures differ only in the numbers here.
#pragma once

#include <vector>

#include "compute/ops.h"

namespace hearth {

struct StepInput {
  Tensor token_ids;   // [T] i32
  Tensor logit_rows;  // [L] i32: rows whose logits are wanted; L may be 0
  Batch batch;
};

// The caches a forward reads and writes. Layers index them by their own count: the i-th full-attention layer uses kv[i], the
// i-th linear-attention layer uses conv_state[i] and recurrent_state[i]. All empty when a forward is only planned.
struct StepCaches {
  std::vector<KvCache> kv;
  std::vector<Tensor> conv_state;       // [slots, 3, C] f32
  std::vector<Tensor> recurrent_state;  // [slots, Hv, Dk, Dv] f32

  KvCache kv_of(int i) const { return kv.empty() ? KvCache{} : kv.at(static_cast<std::size_t>(i)); }
  Tensor conv_state_of(int i) const {
    return conv_state.empty() ? Tensor{} : conv_state.at(static_cast<std::size_t>(i));
  }
  Tensor recurrent_state_of(int i) const {
    return recurrent_state.empty() ? Tensor{} : recurrent_state.at(static_cast<std::size_t>(i));
  }
};

}  // namespace hearth
