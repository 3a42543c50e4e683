// checked_ops.h — a decorator: checks what ops.h promises about shapes, dtypes, strides, aliasing and index ranges, then calls
// the backend. For tests; a violation is a bug in the caller and aborts with the values.
//
// Before    tensors and batch are in host memory (CPU backends): index ranges are read.
// Cost      a few comparisons a call, and one pass over the integers of a batch.
#pragma once

#include <memory>

#include "compute/ops.h"

namespace hearth {

class CheckedOps final : public Ops {
 public:
  explicit CheckedOps(std::unique_ptr<Ops> inner) : inner_(std::move(inner)) {}

  std::string_view name() const override { return inner_->name(); }
  Device& device() override { return inner_->device(); }
  DType act_dtype() const override { return inner_->act_dtype(); }
  Matrix load_matrix(std::span<const StoredMatrix> parts) override;
  Arithmetic arithmetic(const Matrix& w) const override { return inner_->arithmetic(w); }
  std::size_t workspace_bytes(const StepShape& largest) override { return inner_->workspace_bytes(largest); }
  void reserve(const StepShape& largest) override { inner_->reserve(largest); }
  int num_threads() const override { return inner_->num_threads(); }
  void parallel(std::int64_t n, const std::function<void(std::int64_t)>& body) override { inner_->parallel(n, body); }

  void embed(Tensor out, Tensor ids, const Matrix& table) override;
  void rms_norm(Tensor out, Tensor x, Tensor w, float eps) override;
  void add_rms_norm(Tensor out, Tensor r, Tensor m, Tensor w, float eps) override;
  void add(Tensor x, Tensor y) override;
  void linear(Tensor out, Tensor x, const Matrix& w, Tensor bias) override;
  void linear_many(std::span<const Tensor> outs, Tensor x, std::span<const Matrix* const> ws,
                   std::span<const Tensor> biases) override;
  void silu_mul(Tensor out, Tensor gate, Tensor up) override;
  void sigmoid_mul(Tensor out, Tensor x, Tensor gate) override;
  void add_sigmoid_scaled(Tensor x, Tensor y, Tensor s) override;
  void gather_rows(Tensor out, Tensor x, Tensor rows) override;
  void rope(Tensor x, Tensor positions, Tensor inv_freq, RopeStyle style) override;
  void write_kv(const KvCache& cache, Tensor k, Tensor v, const Batch& batch) override;
  void attention(Tensor out, Tensor q, const KvCache& cache, const Batch& batch, float scale) override;
  void causal_conv1d(Tensor out, Tensor u, Tensor w, Tensor state, const Batch& batch) override;
  void gdn_gates(Tensor g, Tensor beta, Tensor a, Tensor b, Tensor a_log, Tensor dt_bias) override;
  void l2_norm(Tensor out, Tensor x, float eps, float scale) override;
  void gated_delta_rule(Tensor y, Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, Tensor state, HeadMap map,
                        const Batch& batch) override;
  void gated_rms_norm(Tensor out, Tensor x, Tensor z, Tensor w, float eps) override;
  void router_topk(Tensor weights, Tensor ids, Tensor logits, bool renormalise) override;
  void moe(Tensor out, Tensor x, Tensor weights, Tensor ids, const Experts& experts) override;

 private:
  std::unique_ptr<Ops> inner_;
};

}  // namespace hearth
