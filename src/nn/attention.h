// attention.h — causal self-attention over a paged KV cache.
//
//   q = x · Wqᵀ   k = x · Wkᵀ   v = x · Wvᵀ          (+ biases), as heads of K numbers
//   q = rope(rms_norm(q))   k = rope(rms_norm(k))    norms per head, where the model has them
//   o_h = softmax(q_h · k_{h / (H/G)} / √K) · v      over positions 0 … its own
//   out = o · Woᵀ, or (o ⊙ sigmoid(gate)) · Woᵀ      gate: q_proj gives 2K numbers a head, query then gate
//
// Shapes    x, out [T, D]; H query heads, G KV heads; the cache holds k after norm and rotation, v as projected
// Source    Attention Is All You Need, arXiv:1706.03762; GQA, arXiv:2305.13245; Gated Attention, arXiv:2505.06708
#pragma once

#include <optional>
#include <string>

#include "nn/linear.h"
#include "nn/norm.h"
#include "nn/step_input.h"

namespace hearth {

struct AttentionConfig {
  std::int64_t hidden_size = 0, num_heads = 0, num_kv_heads = 0, head_dim = 0;
  bool qkv_bias = false, o_bias = false;
  bool qk_norm = false, zero_centred_norm = false;
  float norm_eps = 0;
  bool output_gate = false;
};

struct Attention {
  AttentionConfig config;
  Linear q_proj, k_proj, v_proj, o_proj;
  std::optional<Norm> q_norm, k_norm;
  Tensor inv_freq;      // [R / 2], shared by all layers
  int cache_index = 0;  // which KV cache
};

Attention bind_attention(Binder& b, const std::string& prefix, const AttentionConfig& config, Tensor inv_freq,
                         int cache_index);
Tensor attention(const Ctx& c, const Attention& a, Tensor x, const StepInput& in, const StepCaches& caches);

}  // namespace hearth
