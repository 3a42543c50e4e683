// cuda_ops_impl.h — the class behind make_cuda_ops; bodies in <concept>.cpp.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "backend/cuda/cuda_device.h"
#include "backend/cuda/cuda_ops.h"
#include "backend/cuda/kernels/gemm.h"
#include "base/check.h"
#include "base/thread_pool.h"

namespace hearth {

// Sub-allocates weights: thousands of expert matrices are far smaller than what the driver hands out at once.
class WeightArena {
 public:
  explicit WeightArena(CudaDevice& device) : device_(device) {}
  // 256-byte aligned, zeroed; lives as long as any of its slab's pieces.
  std::shared_ptr<void> take(std::size_t bytes);

 private:
  static constexpr std::size_t kSlab = std::size_t{64} << 20;
  CudaDevice& device_;
  std::shared_ptr<Buffer> slab_;
  std::size_t used_ = 0;
};

struct CudaMatrix {
  cuda::MatrixView view;
  std::shared_ptr<void> data, scales, scale_row;
};
inline const CudaMatrix& cuda_matrix(const Matrix& m) { return *static_cast<const CudaMatrix*>(m.impl.get()); }

class CudaOps final : public Ops {
 public:
  explicit CudaOps(const CudaOptions& options) : device_(options.device), arena_(device_) {}
  ~CudaOps() override { forget_records(); }
  std::string_view name() const override { return "cuda"; }
  Device& device() override { return device_; }
  Arithmetic arithmetic(const Matrix& w) const override;

  Matrix load_matrix(std::span<const StoredMatrix> parts) override;
  std::size_t plan_matrix(Format format, std::int64_t rows, std::int64_t cols) override;
  std::size_t workspace_bytes(const StepShape& largest) override;
  void reserve(const StepShape& largest) override;

  int num_threads() const override { return pool_.size(); }
  void parallel(std::int64_t n, const std::function<void(std::int64_t)>& body) override {
    pool_.run(n, [&](std::int64_t i, int) { body(i); });
  }
  void repeat(std::span<const std::int64_t> key, const std::function<void()>& body) override;

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

  bool delta_net_step(Tensor y, Tensor u, Tensor z, Tensor b, Tensor a, const DeltaNetParams& p, Tensor conv_state,
                      Tensor state, const Batch& batch) override;
  void router_topk(Tensor weights, Tensor ids, Tensor logits, bool renormalise) override;
  void moe(Tensor out, Tensor x, Tensor weights, Tensor ids, const Experts& experts) override;

 private:
  // Memory of one kind of scratch. Before reserve() it grows to what a call needs; after, asking for more is a mistake of the
  // plan, as no step may allocate.
  class Scratch {
   public:
    template <class T>
    T* get(CudaOps& ops, std::int64_t count) {
      const auto bytes = static_cast<std::size_t>(count) * sizeof(T);
      if (bytes > buffer_.bytes()) {
        if (ops.reserved_) HEARTH_CHECK_LE(bytes, buffer_.bytes());
        ops.forget_records();  // they hold the old address
        buffer_ = {};
        buffer_ = ops.device_.alloc(bytes, "workspace");
      }
      return static_cast<T*>(buffer_.data());
    }

   private:
    Buffer buffer_;
  };
  // Calls visit(scratch, bytes) for all that steps within `largest` use.
  template <class Visit>
  void each_scratch(const StepShape& largest, Visit visit);
  void forget_records();
  // Activations as products with matrices of this kind take them.
  cuda::Activations packed(cuda::Kind kind, const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t cols,
                           std::int64_t silu_half = 0);
  // Where the packed forms of t go that its operation is about to write; remembered until t's memory is written again.
  cuda::PackedRows pack_beside(int slot, const Tensor& t);
  void wrote(const Tensor& t);
  const cuda::MatrixView* expert_tables(const Experts& experts);  // gate, up, down: [3][E] in device memory

  CudaDevice device_;
  ThreadPool pool_{8};  // for what the host does with rows of logits
  WeightArena arena_;
  bool reserved_ = false;
  static constexpr int kSlots = 2;  // the last norm, the last mixer
  struct Beside {
    const float* of = nullptr;
    std::int64_t rows = 0, cols = 0;
    cuda::PackedRows packed;
    Scratch fp8, bf16, scales;
  };
  Beside beside_[kSlots];
  Buffer staging_;  // of load_matrix
  Scratch x_q_, x_scales_, attention_, begin_, order_, gate_up_, down_, act_, conv_;
  struct Table {
    std::weak_ptr<const void> owner;  // the first expert: a table of one that is gone is made anew
    Buffer buffer;
  };
  std::map<const void*, Table> tables_;
  struct Record {
    int runs = 0;
    cudaGraphExec_t graph = nullptr;
  };
  std::map<std::vector<std::int64_t>, Record> records_;
  struct Widened {
    std::int64_t matrices = 0;
    std::size_t stored = 0, bytes = 0;
  };
  std::map<Format, Widened> widened_;
};

cuda::Rows rows_of(const Tensor& t);  // rows of a view, the last axis being a row

}  // namespace hearth
