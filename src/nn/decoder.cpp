#include "nn/decoder.h"

namespace hearth {

Tensor decoder_forward(const Ctx& c, const Decoder& m, const StepInput& in, const StepCaches& caches) {
  const std::int64_t L = in.logit_rows.rank == 0 ? 0 : in.logit_rows.dim(0);
  Tensor logits = c.make(DType::f32, {L, m.lm_head.rows});

  Tensor r = c.embed(in.token_ids, m.embed_tokens);  // residual stream [T, D]
  c.observe("hidden", r);
  Tensor h = rms_norm(c, m.layers.front().input_layernorm, r);
  for (std::size_t i = 0; i < m.layers.size(); ++i) {
    const DecoderLayer& l = m.layers[i];
    const Norm& next = i + 1 < m.layers.size() ? m.layers[i + 1].input_layernorm : m.norm;
    const auto scope = c.scope();
    Tensor mixed =
        l.linear_attn ? gated_delta_net(c, *l.linear_attn, h, in, caches) : attention(c, *l.self_attn, h, in, caches);
    c.add_rms_norm_into(h, r, mixed, l.post_attention_layernorm.weight, l.post_attention_layernorm.eps);
    Tensor ffn = l.moe ? moe(c, *l.moe, h) : mlp(c, *l.mlp, h);
    c.add_rms_norm_into(h, r, ffn, next.weight, next.eps);  // r ← r + ffn; h = norm(r)
    c.observe("hidden", r);
  }
  c.observe("hidden", h);
  if (L > 0) c.linear_into(logits, c.gather_rows(h, in.logit_rows), m.lm_head);
  return logits;
}

}  // namespace hearth
