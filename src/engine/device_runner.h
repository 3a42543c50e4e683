// device_runner.h — Runner over a Model on Ops: owns the caches, the activations and the step's tensors.
//
//   StepBatch → step tensors on the device → Model::forward → logits [L, V] → one Sampler row after row
//
// Order     1 plan_device() on the bound model gives every size; 2 plan_memory() decides blocks and slots; 3 the constructor
//           allocates, and touches every page, so that lacking memory shows before "ready".
// Owns      KV blocks (kv_dtype), convolution and recurrent states (f32), the arena, step tensors; the model with its weights;
//           a few samplers, which take the rows of a large step side by side (a row's token does not depend on which).
// Threads   the engine thread only.
// Errors    the constructor throws StartupError when the device has not the memory. Rows with NaN or Inf: see runner.h.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "compute/ops.h"
#include "engine/memory_plan.h"
#include "engine/runner.h"
#include "engine/sampler.h"
#include "models/model_def.h"
#include "nn/step_input.h"

namespace hearth {

struct DeviceRunnerConfig {
  std::int32_t max_batch_tokens = 2048;  // T
  std::int32_t max_seqs = 256;           // B
  std::int64_t max_model_len = 4096;
  std::int32_t block_tokens = 16;    // N
  std::int32_t num_blocks = 0;       // P
  std::int32_t num_state_slots = 0;  // at least 1 when the model has recurrent state
  std::int32_t max_logit_rows =
      0;                        // L; 0: max_seqs, but at least 64, so that prompt logprobs come in pieces of that size
  DType kv_dtype = DType::f32;  // f32, f16 or bf16
  LogprobsMode logprobs_mode = LogprobsMode::raw_logprobs;

  std::int32_t logit_rows() const;  // L
  std::int64_t max_blocks() const;  // width of a block table: blocks of a sequence of max_model_len tokens
};

// Bytes of everything but weights and caches, from one forward that only counts. num_blocks and num_state_slots do not matter.
struct DevicePlan {
  std::int64_t activations = 0;  // the arena without the logits
  std::int64_t logits = 0;
  std::int64_t workspace = 0;     // of the operations
  std::int64_t sampling = 0;      // of the samplers, on the host
  std::int64_t step_tensors = 0;  // on the device; as much again on the host
};
DevicePlan plan_device(Model& model, Ops& ops, const DeviceRunnerConfig& config);

class DeviceRunner final : public Runner {
 public:
  // reserved is told of the bytes of caches and activations as they come, from any thread.
  DeviceRunner(std::unique_ptr<Model> model, Ops& ops, const DeviceRunnerConfig& config,
               const std::function<void(std::int64_t bytes)>& reserved = {});

  const RunnerInfo& info() const override { return info_; }
  std::vector<SampledRow> step(const StepBatch& batch) override;
  const Model& model() const { return *model_; }
  // Rows of the last forward and its logit rows (tests, bench).
  std::int64_t last_rows() const { return last_rows_; }

 private:
  struct RowSampler {
    Sampler sampler;
    std::vector<float> row;  // [V]
  };

  void copy_caches(const StepBatch& batch);
  std::vector<SampledRow> sample(const Tensor& logits, const StepBatch& batch);
  Tensor put(const std::vector<std::int32_t>& values, std::initializer_list<std::int64_t> shape);

  std::unique_ptr<Model> model_;
  Ops& ops_;
  DeviceRunnerConfig config_;
  RunnerInfo info_;
  std::vector<Buffer> cache_buffers_;
  Buffer arena_buffer_, step_buffer_;
  Arena arena_;
  StepCaches caches_;
  std::size_t step_used_ = 0;         // of step_buffer_, bytes
  std::vector<std::byte> step_host_;  // the same, before it is copied
  std::vector<std::int32_t> block_tables_;
  std::map<std::array<std::int64_t, 3>, Tensor> repeated_logits_;  // where a repeated step leaves them
  std::vector<std::int32_t> seq_of_row_, logit_rows_;
  std::vector<std::int32_t> logits_of_sample_;  // which of logit_rows_ a sample reads
  std::vector<RowSampler> samplers_;
  std::int64_t last_rows_ = 0;
};

}  // namespace hearth
