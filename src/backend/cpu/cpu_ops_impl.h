// cpu_ops_impl.h — the class behind make_cpu_ops; bodies in <op>.cpp.
#pragma once

#include <cstring>
#include <map>
#include <optional>
#include <vector>

#include "backend/cpu/cpu_ops.h"
#include "backend/cpu/kernels.h"
#include "backend/cpu/pack.h"
#include "base/thread_pool.h"
#include "compute/workspace.h"

namespace hearth {

// One matrix times some rows. x holds a pointer per row, of floats or of QBlocks as the layout wants.
struct GemmJob {
  const PackedMatrix* w = nullptr;
  const void* const* x = nullptr;
  float* const* out = nullptr;
  std::int64_t rows = 0;
  const float* bias = nullptr;
};

// cos and sin of the last positions and frequencies asked for: the layers of a step ask for the same.
struct RopeTable {
  std::int64_t rows, half;
  std::int32_t* positions;
  float *freq, *cos, *sin;
  RopeTable(Arena& a, std::int64_t t, std::int64_t h)
      : rows(t),
        half(h),
        positions(a.take<std::int32_t>(t)),
        freq(a.take<float>(h)),
        cos(a.take<float>(t * h)),
        sin(a.take<float>(t * h)) {}
};

// What each operation takes at most; quantized_cols: of the widest matrix whose activations are quantised, 0 without one.
std::size_t linear_scratch_bytes(const StepShape& largest, std::int64_t quantized_cols);
std::size_t attention_scratch_bytes(const StepShape& largest, int threads);
std::size_t moe_scratch_bytes(const StepShape& largest, bool quantized);

class CpuOps final : public Ops {
 public:
  explicit CpuOps(const CpuOptions& options);
  std::string_view name() const override { return "cpu"; }
  Device& device() override { return *device_; }
  Arithmetic arithmetic(const Matrix& w) const override {
    return is_float(packed(w).layout) ? Arithmetic::f32 : Arithmetic::q8_32;
  }

  Matrix load_matrix(std::span<const StoredMatrix> parts) override;
  std::size_t plan_matrix(Format format, std::int64_t rows, std::int64_t cols) override;
  std::size_t workspace_bytes(const StepShape& largest) override;
  void reserve(const StepShape& largest) override;
  int num_threads() const override { return pool_.size(); }
  void parallel(std::int64_t n, const std::function<void(std::int64_t)>& body) override {
    pool_.run(n, [&](std::int64_t i, int) { body(i); });
  }

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
  // Calls body(i) for i in [0, n), shared among threads when n · cost (numbers touched) is worth a dispatch.
  template <class Body>
  void each(std::int64_t n, std::int64_t cost, Body body) {
    constexpr std::int64_t kGrain = 4096;  // numbers an item: about a microsecond
    if (n * cost < 4 * kGrain) {
      for (std::int64_t i = 0; i < n; ++i) body(i);
      return;
    }
    const std::int64_t grain = std::max<std::int64_t>(1, kGrain / std::max<std::int64_t>(cost, 1));
    pool_.run((n + grain - 1) / grain, [&](std::int64_t item, int) {
      for (std::int64_t i = item * grain; i < std::min(n, (item + 1) * grain); ++i) body(i);
    });
  }
  std::size_t scratch_bytes(const StepShape& largest) const;
  void run_jobs(std::span<const GemmJob> jobs, std::int64_t* job_end);  // job_end [jobs]: scratch
  // Quantised copies of rows; row i at to + i · q_stride(cols).
  void quantize_rows(std::byte* to, const float* const* rows, std::int64_t count, std::int64_t cols);
  const RopeTable& rope_table(Tensor positions, Tensor inv_freq);

  std::unique_ptr<Device> device_;
  const Kernels& kernels_;
  ThreadPool pool_;
  std::int64_t max_quantized_cols_ = 0;  // of the matrices loaded so far
  struct Expanded {
    std::int64_t matrices = 0;
    std::size_t stored = 0, bytes = 0;
  };
  std::map<Format, Expanded> expanded_;  // formats that were expanded, until reserve() has said so

  Workspace workspace_, rope_memory_;
  std::optional<RopeTable> rope_;  // in rope_memory_
};

// Bytes between quantised rows: an odd number of cache lines, so that equal columns of several rows do not share sets.
inline std::size_t q_stride(std::int64_t cols) {
  const std::size_t lines = (static_cast<std::size_t>(cols / 32) * sizeof(QBlock) + 63) / 64;
  return (lines | 1) * 64;
}

// Row i of a view whose outer axes are counted through as one, the last of them fastest.
inline float* outer_row(const Tensor& t, std::int64_t i) {
  if (t.rank == 2) return t.row<float>(i);
  std::int64_t offset = 0;
  for (int axis = t.rank - 1; axis-- > 0;) {
    offset += i % t.dim(axis) * t.stride[static_cast<std::size_t>(axis)];
    i /= t.dim(axis);
  }
  return t.ptr<float>() + offset;
}

}  // namespace hearth
