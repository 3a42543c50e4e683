#include "nn/ctx.h"

namespace hearth {

void Ctx::saw_linear(Tensor x, std::size_t outs) const {
  keep_largest(shape_->linear_cols, x.dim(1));
  keep_largest(shape_->linear_outs, static_cast<std::int64_t>(outs));
}

Tensor Ctx::embed(Tensor ids, const Matrix& table) const {
  Tensor out = make({ids.dim(0), table.cols});
  if (ops_) ops_->embed(out, ids, table);
  return out;
}

Tensor Ctx::rms_norm(Tensor x, Tensor w, float eps) const {
  Tensor out = x.rank == 2 ? make({x.dim(0), x.dim(1)}) : make({x.dim(0), x.dim(1), x.dim(2)});
  rms_norm_into(out, x, w, eps);
  return out;
}

Tensor Ctx::linear(Tensor x, const Matrix& w, Tensor bias) const {
  Tensor out = make({x.dim(0), w.rows});
  linear_into(out, x, w, bias);
  return out;
}

Tensor Ctx::silu_mul(Tensor gate, Tensor up) const {
  if (ops_) ops_->silu_mul(gate, gate, up);
  return gate;
}

Tensor Ctx::gather_rows(Tensor x, Tensor rows) const {
  Tensor out = make({rows.dim(0), x.dim(1)});
  if (ops_) ops_->gather_rows(out, x, rows);
  return out;
}

Tensor Ctx::attention(Tensor q, const KvCache& cache, const Batch& batch, float scale) const {
  Tensor out = make({q.dim(0), q.dim(1), q.dim(2)});
  if (ops_) ops_->attention(out, q, cache, batch, scale);
  if (shape_) {
    keep_largest(shape_->heads, q.dim(1));
    keep_largest(shape_->heads_per_kv_head, q.dim(1) / cache.k.dim(2));
    keep_largest(shape_->head_dim, q.dim(2));
    shape_->narrow_kv |= cache.k.dtype != DType::f32;
  }
  return out;
}

Tensor Ctx::causal_conv1d(Tensor u, Tensor w, Tensor state, const Batch& batch) const {
  Tensor out = make({u.dim(0), u.dim(1)});
  if (ops_) ops_->causal_conv1d(out, u, w, state, batch);
  if (shape_) keep_largest(shape_->conv_channels, u.dim(1));
  return out;
}

Ctx::Gates Ctx::gdn_gates(Tensor a, Tensor b, Tensor a_log, Tensor dt_bias) const {
  Gates out{make(DType::f32, {a.dim(0), a.dim(1)}), make(DType::f32, {a.dim(0), a.dim(1)})};
  if (ops_) ops_->gdn_gates(out.g, out.beta, a, b, a_log, dt_bias);
  return out;
}

Tensor Ctx::gated_delta_rule(Tensor q, Tensor k, Tensor v, Gates gates, Tensor state, HeadMap map,
                             const Batch& batch) const {
  Tensor y = make({v.dim(0), v.dim(1), v.dim(2)});
  if (ops_) ops_->gated_delta_rule(y, q, k, v, gates.g, gates.beta, state, map, batch);
  if (shape_) keep_largest(shape_->value_dim, v.dim(2));
  return y;
}

Ctx::Routing Ctx::router_topk(Tensor logits, std::int64_t num_experts_per_tok, bool renormalise) const {
  Routing out{make(DType::f32, {logits.dim(0), num_experts_per_tok}),
              make(DType::i32, {logits.dim(0), num_experts_per_tok})};
  if (ops_) ops_->router_topk(out.weights, out.ids, logits, renormalise);
  if (shape_) {
    keep_largest(shape_->experts, logits.dim(1));
    keep_largest(shape_->active_experts, num_experts_per_tok);
  }
  return out;
}

void Ctx::rms_norm_into(Tensor out, Tensor x, Tensor w, float eps) const {
  if (ops_) ops_->rms_norm(out, x, w, eps);
}
void Ctx::add_rms_norm_into(Tensor out, Tensor r, Tensor m, Tensor w, float eps) const {
  if (ops_) ops_->add_rms_norm(out, r, m, w, eps);
}
void Ctx::linear_into(Tensor out, Tensor x, const Matrix& w, Tensor bias) const {
  if (ops_) ops_->linear(out, x, w, bias);
  if (shape_) saw_linear(x, 1);
}
void Ctx::sigmoid_mul_in_place(Tensor x, Tensor gate) const {
  if (ops_) ops_->sigmoid_mul(x, x, gate);
}
void Ctx::add_sigmoid_scaled(Tensor x, Tensor y, Tensor s) const {
  if (ops_) ops_->add_sigmoid_scaled(x, y, s);
}
void Ctx::rope_in_place(Tensor x, Tensor positions, Tensor inv_freq, RopeStyle style) const {
  if (ops_) ops_->rope(x, positions, inv_freq, style);
  if (shape_) keep_largest(shape_->half_rotary, inv_freq.dim(0));
}
void Ctx::write_kv(const KvCache& cache, Tensor k, Tensor v, const Batch& batch) const {
  if (ops_) ops_->write_kv(cache, k, v, batch);
}
void Ctx::l2_norm_in_place(Tensor x, float eps, float scale) const {
  if (ops_) ops_->l2_norm(x, x, eps, scale);
}
void Ctx::gated_rms_norm_in_place(Tensor x, Tensor z, Tensor w, float eps) const {
  if (ops_) ops_->gated_rms_norm(x, x, z, w, eps);
}
void Ctx::moe_into(Tensor out, Tensor x, Routing routing, const Experts& experts) const {
  if (ops_) ops_->moe(out, x, routing.weights, routing.ids, experts);
  if (shape_) {
    keep_largest(shape_->moe_hidden, x.dim(1));
    keep_largest(shape_->expert_width, experts.gate_proj.front().rows);
  }
}

}  // namespace hearth
