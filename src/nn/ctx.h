// ctx.h — the same verbs as Ops, returning tensors from the step's arena, so that a model reads as maths.
//
// Planning  with ops == nullptr nothing is computed; the arena counts. One forward on the largest step (shapes without
//           memory) gives the exact activation memory before anything is reserved, and in `shape` what its operations will be
//           asked for.
// Memory    scope() frees at its end what was made after it: a block makes its result first, then opens a scope, so that
//           activation memory does not grow with the number of layers.
#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "compute/ops.h"
#include "tensor/arena.h"

namespace hearth {

class Ctx {
 public:
  Ctx(Ops* ops, Arena& arena, DType act = DType::f32) : ops_(ops), arena_(arena), act_(act) {}
  static Ctx plan(Arena& arena, DType act, StepShape& shape) {
    Ctx c(nullptr, arena, act);
    c.shape_ = &shape;
    return c;
  }

  bool planning() const { return ops_ == nullptr; }
  Ops& ops() const { return *ops_; }
  Arena& arena() const { return arena_; }
  DType act_dtype() const { return act_; }
  Tensor make(std::initializer_list<std::int64_t> shape) const { return arena_.make(act_, shape); }
  Tensor make(DType dtype, std::initializer_list<std::int64_t> shape) const { return arena_.make(dtype, shape); }

  class Scope {  // what the arena handed out since is free again when this ends
   public:
    explicit Scope(Arena& arena) : arena_(arena), mark_(arena.mark()) {}
    ~Scope() { arena_.release(mark_); }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    Arena& arena_;
    std::size_t mark_;
  };
  Scope scope() const { return Scope(arena_); }

  // ---- new tensors -----------------------------------------------------------------------------------------------------
  Tensor embed(Tensor ids, const Matrix& table) const;
  Tensor rms_norm(Tensor x, Tensor w, float eps) const;  // contiguous, whatever x's strides
  Tensor linear(Tensor x, const Matrix& w, Tensor bias = {}) const;
  template <std::size_t n>
  std::array<Tensor, n> linear_many(Tensor x, const std::array<const Matrix*, n>& ws,
                                    const std::array<Tensor, n>& biases = {}) const {
    std::array<Tensor, n> outs;
    for (std::size_t i = 0; i < n; ++i) outs[i] = make({x.dim(0), ws[i]->rows});
    if (ops_) ops_->linear_many(outs, x, ws, biases);
    if (shape_) saw_linear(x, n);
    return outs;
  }
  Tensor silu_mul(Tensor gate, Tensor up) const;  // in gate's place
  Tensor gather_rows(Tensor x, Tensor rows) const;
  Tensor attention(Tensor q, const KvCache& cache, const Batch& batch, float scale) const;
  Tensor causal_conv1d(Tensor u, Tensor w, Tensor state, const Batch& batch) const;
  struct Gates {
    Tensor g, beta;
  };
  Gates gdn_gates(Tensor a, Tensor b, Tensor a_log, Tensor dt_bias) const;
  Tensor gated_delta_rule(Tensor q, Tensor k, Tensor v, Gates gates, Tensor state, HeadMap map,
                          const Batch& batch) const;
  struct Routing {
    Tensor weights, ids;
  };
  Routing router_topk(Tensor logits, std::int64_t num_experts_per_tok, bool renormalise) const;

  // ---- into tensors that are there -------------------------------------------------------------------------------------
  void rms_norm_into(Tensor out, Tensor x, Tensor w, float eps) const;
  void add_rms_norm_into(Tensor out, Tensor r, Tensor m, Tensor w, float eps) const;  // r ← r + m; out = norm(r)
  void linear_into(Tensor out, Tensor x, const Matrix& w, Tensor bias = {}) const;
  void sigmoid_mul_in_place(Tensor x, Tensor gate) const;
  void add_sigmoid_scaled(Tensor x, Tensor y, Tensor s) const;
  void rope_in_place(Tensor x, Tensor positions, Tensor inv_freq, RopeStyle style) const;
  void write_kv(const KvCache& cache, Tensor k, Tensor v, const Batch& batch) const;
  void l2_norm_in_place(Tensor x, float eps, float scale) const;
  void gated_rms_norm_in_place(Tensor x, Tensor z, Tensor w, float eps) const;
  void moe_into(Tensor out, Tensor x, Routing routing, const Experts& experts) const;

  // Called when set, with a name and a tensor: "hidden" (embeddings, then the residual stream after each layer, then the
  // final norm), "router_logits" of each expert layer. Goldens compare them; the tensor lives only during the call.
  std::function<void(std::string_view, Tensor)> probe;
  void observe(std::string_view name, Tensor t) const {
    if (probe && !planning()) probe(name, t);
  }

 private:
  void saw_linear(Tensor x, std::size_t outs) const;

  Ops* ops_;
  StepShape* shape_ = nullptr;  // when planning
  Arena& arena_;
  DType act_;
};

}  // namespace hearth
