#include "nn/attention.h"

#include <cmath>

namespace hearth {

Attention bind_attention(Binder& b, const std::string& prefix, const AttentionConfig& g, Tensor inv_freq,
                         int cache_index) {
  HEARTH_CHECK(!g.output_gate || g.qk_norm);  // the norm also takes the query half out of [query | gate]
  Attention a;
  a.config = g;
  const std::int64_t D = g.hidden_size, K = g.head_dim;
  a.q_proj = bind_linear(b, prefix + "q_proj", g.num_heads * K * (g.output_gate ? 2 : 1), D, g.qkv_bias);
  a.k_proj = bind_linear(b, prefix + "k_proj", g.num_kv_heads * K, D, g.qkv_bias);
  a.v_proj = bind_linear(b, prefix + "v_proj", g.num_kv_heads * K, D, g.qkv_bias);
  a.o_proj = bind_linear(b, prefix + "o_proj", D, g.num_heads * K, g.o_bias);
  if (g.qk_norm) {
    a.q_norm = bind_norm(b, prefix + "q_norm", K, g.norm_eps, g.zero_centred_norm);
    a.k_norm = bind_norm(b, prefix + "k_norm", K, g.norm_eps, g.zero_centred_norm);
  }
  a.inv_freq = inv_freq;
  a.cache_index = cache_index;
  return a;
}

Tensor attention(const Ctx& c, const Attention& a, Tensor x, const StepInput& in, const StepCaches& caches) {
  const std::int64_t T = x.dim(0), H = a.config.num_heads, G = a.config.num_kv_heads, K = a.config.head_dim;
  Tensor out = c.make({T, a.config.hidden_size});
  const auto scope = c.scope();

  const auto [qs, ks, v] = c.linear_many<3>(x, {&a.q_proj.weight, &a.k_proj.weight, &a.v_proj.weight},
                                            {a.q_proj.bias, a.k_proj.bias, a.v_proj.bias});
  Tensor q = qs.heads(H), k = ks.heads(G), gate;
  if (a.config.output_gate) {
    gate = q.slice(2, K, 2 * K);
    q = q.slice(2, 0, K);
  }
  if (a.q_norm) {
    q = rms_norm(c, *a.q_norm, q);
    c.rms_norm_into(k, k, a.k_norm->weight, a.k_norm->eps);
  }
  c.rope_in_place(q, in.batch.positions, a.inv_freq, RopeStyle::half_split);
  c.rope_in_place(k, in.batch.positions, a.inv_freq, RopeStyle::half_split);

  const KvCache kv = caches.kv_of(a.cache_index);
  c.write_kv(kv, k, v.heads(G), in.batch);
  Tensor o = c.attention(q, kv, in.batch, static_cast<float>(1 / std::sqrt(static_cast<double>(K))));
  if (a.config.output_gate) c.sigmoid_mul_in_place(o, gate);
  c.linear_into(out, o.view({T, H * K}), a.o_proj.weight, a.o_proj.bias);
  return out;
}

}  // namespace hearth
