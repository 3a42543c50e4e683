// step_shape.h — the largest step a model can be asked for, in the numbers that decide what operations need beside their inputs and
// outputs. One planned forward collects them (nn/ctx.h); each backend turns them into bytes (Ops::workspace_bytes), which are
// taken before "ready": no step allocates.
//
// Each number is the largest over all layers; 0 where the model has no such operation.
#pragma once

#include <algorithm>
#include <cstdint>

namespace hearth {

struct StepShape {
  // Of the step.
  std::int64_t tokens = 0;     // T
  std::int64_t sequences = 0;  // B
  std::int64_t context = 0;    // S: positions of the longest sequence

  // linear, linear_many
  std::int64_t linear_cols = 0;
  std::int64_t linear_outs = 0;  // matrices of one call
  // attention and rope
  std::int64_t heads = 0;              // H
  std::int64_t heads_per_kv_head = 0;  // H / G
  std::int64_t head_dim = 0;           // K
  bool narrow_kv = false;              // a cache that is not f32
  std::int64_t half_rotary = 0;        // R / 2
  // causal_conv1d, gated_delta_rule
  std::int64_t conv_channels = 0;  // C
  std::int64_t value_dim = 0;      // Dv
  // router_topk, moe
  std::int64_t experts = 0;         // E
  std::int64_t active_experts = 0;  // A
  std::int64_t moe_hidden = 0;      // D
  std::int64_t expert_width = 0;    // F
};

// x ← the larger of x and seen.
inline void keep_largest(std::int64_t& x, std::int64_t seen) { x = std::max(x, seen); }

}  // namespace hearth
