// ref_ops.h — the reference backend: each operation of compute/ops.h as a slow, obvious loop. It defines what the others
// must compute.
//
// Owns      its host device; matrices stay in their stored bytes and are widened row by row when used.
// Numbers   inputs and outputs f32, every sum in double, rounded once to f32 where a result is stored. With fp8_activations
//           the inputs of FP8 matrices are rounded as quant/fp8_group128.h says: what FP8 tensor cores must compute.
// Threads   one caller at a time; it starts none.
// Cost      about a thousand times a fast backend's; for tests.
#pragma once

#include <memory>

#include "compute/ops.h"
#include "compute/workspace.h"

namespace hearth {

struct Fp8Row;  // scratch.h

struct RefOptions {
  bool fp8_activations = false;
};

class RefOps : public Ops {
 public:
  explicit RefOps(RefOptions options = {}) : device_(make_host_device()), workspace_(*device_), options_(options) {}
  std::string_view name() const override { return options_.fp8_activations ? "ref-w8a8" : "ref"; }
  Device& device() override { return *device_; }
  Matrix load_matrix(std::span<const StoredMatrix> parts) override;
  Arithmetic arithmetic(const Matrix& w) const override;
  std::size_t workspace_bytes(const StepShape& largest) override;
  void reserve(const StepShape& largest) override { workspace_.reserve(workspace_bytes(largest)); }

  void embed(Tensor out, Tensor ids, const Matrix& table) override;
  void rms_norm(Tensor out, Tensor x, Tensor w, float eps) override;
  void add(Tensor x, Tensor y) override;
  void linear(Tensor out, Tensor x, const Matrix& w, Tensor bias) override;
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
  // out [w.cols] = the row x as it meets w.
  void activation(float* out, const Matrix& w, const float* x, const Fp8Row& fp8) const;

  std::unique_ptr<Device> device_;
  Workspace workspace_;
  RefOptions options_;
};

std::unique_ptr<Ops> make_ref_ops(RefOptions options = {});

}  // namespace hearth
