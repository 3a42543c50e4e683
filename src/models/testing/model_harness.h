// model_harness.h — a model on some Ops, driven step by step by a test: its own caches, block tables out of order, state
// slots that are not the first.
//
// Owns      the model, its caches and its activations.
// Threads   one caller.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/weight_source.h"
#include "models/model_def.h"

namespace hearth {

struct HarnessOptions {
  DType kv_dtype = DType::f32;
  std::int64_t block_tokens = 16;
  std::int64_t max_seqs = 1;
  std::int64_t max_context = 512;
  std::int64_t max_batch_tokens = 512;
};

struct Chunk {
  int seq = 0;  // which sequence continues
  std::vector<std::int32_t> tokens;
};

class ModelHarness {
 public:
  ModelHarness(WeightSource& source, Ops& ops, const HarnessOptions& options = {});

  const ModelInfo& info() const { return model_->info(); }
  // Logits [rows, V] of every row of the step, or of each chunk's last row only.
  std::vector<float> step(const std::vector<Chunk>& chunks, bool all_rows);
  // Sequence 0 in pieces of these lengths from position 0; the logits of the last row (or of all rows).
  std::vector<float> run(std::span<const std::int32_t> ids, const std::vector<std::int64_t>& pieces,
                         bool all_rows = false);
  void forget(int seq) { lengths_.at(static_cast<std::size_t>(seq)) = 0; }  // the next chunk begins at position 0

  // What the caches hold for a sequence. kv_layer counts attention layers, state_layer linear-attention layers.
  std::vector<float> k_rows(int seq, int kv_layer) const;  // [length, G, K]
  std::vector<float> v_rows(int seq, int kv_layer) const;
  std::vector<float> conv_state(int seq, int state_layer) const;       // [3, C]
  std::vector<float> recurrent_state(int seq, int state_layer) const;  // [Hv, Dk, Dv]

  std::size_t planned_activation_bytes() const { return arena_bytes_; }
  std::function<void(std::string_view, Tensor)> probe;  // see Ctx::probe

 private:
  std::vector<float> cache_rows(const Tensor& cache, int seq) const;
  std::vector<float> slot_numbers(const Tensor& state, int seq) const;

  Ops& ops_;
  HarnessOptions options_;
  std::unique_ptr<Model> model_;
  std::int64_t max_blocks_ = 0;
  std::vector<std::vector<std::int32_t>> blocks_;  // by sequence, shuffled
  std::vector<std::int32_t> slots_;                // by sequence
  std::vector<std::int64_t> lengths_;
  std::vector<Buffer> buffers_;
  StepCaches caches_;
  std::size_t arena_bytes_ = 0;
  Buffer arena_memory_;
};

// Position of the largest number of a row; the first of equals.
std::int32_t argmax(std::span<const float> row);

}  // namespace hearth
