// decoder.h — the decoder-only transformer that all architectures here share: pre-norm residual layers, each a mixer
// (attention or gated delta net) and a feed-forward block (dense or experts).
//
//   r = embed[ids];   each layer: r ← r + mixer(norm(r)); r ← r + ffn(norm(r));   logits = norm(r) · Wheadᵀ
//
// An architecture file says which mixer and block each layer has and binds them.
#pragma once

#include <optional>
#include <vector>

#include "nn/attention.h"
#include "nn/gated_delta_net.h"
#include "nn/moe.h"

namespace hearth {

struct DecoderLayer {
  Norm input_layernorm;
  std::optional<Attention> self_attn;  // one of these two
  std::optional<GatedDeltaNet> linear_attn;
  Norm post_attention_layernorm;
  std::optional<Mlp> mlp;  // one of these two
  std::optional<Moe> moe;
};

struct Decoder {
  Matrix embed_tokens;  // [V, D]
  std::vector<DecoderLayer> layers;
  Norm norm;
  Matrix lm_head;  // [V, D]; may be embed_tokens
};

// Logits [L, V] f32 of in.logit_rows.
Tensor decoder_forward(const Ctx& c, const Decoder& m, const StepInput& in, const StepCaches& caches);

}  // namespace hearth
