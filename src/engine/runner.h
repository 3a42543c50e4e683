// runner.h — computes one step: a forward pass over a batch and one sampled token for each sequence that wants one.
//
// Two implementations: device_runner.cpp (a model on Ops) and testing/hash_runner.h (the next token is a hash of what is read
// back through the block table).
//
// Threads   the engine thread only.
// Errors    step() throws (std::exception) when the device is lost: the engine ends. A row whose logits hold NaN or Inf gives a
//           SampledRow with error; the step as a whole does not fail.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/request.h"
#include "engine/sampling_params.h"

namespace hearth {

// A row of the step whose logits are wanted.
struct SampleRow {
  std::int32_t row = 0;  // index into token_ids
  const SamplingParams* params = nullptr;
  std::span<const std::int32_t> prompt;  // for penalties and bad words
  std::span<const std::int32_t> output;  // generated so far
  std::uint64_t seed = 0;                // draws use (seed, output.size())
  bool sample = true;                    // false: only the log-probability of `target` (prompt logprobs)
  std::int32_t target = -1;              // with sample == false: the prompt token that follows
};

// Contents that a second sequence needs of its own: a block of every KV layer, a slot of every state layer.
struct CacheCopy {
  std::int32_t from = 0;
  std::int32_t to = 0;
};

struct StepBatch {
  std::vector<std::int32_t> token_ids;     // [T]
  std::vector<std::int32_t> positions;     // [T]
  std::vector<std::int32_t> slot_mapping;  // [T]
  std::vector<std::int32_t> cu_seqlens_q;  // [B + 1]
  std::vector<std::int32_t> seq_lens;      // [B]
  std::vector<std::int32_t> state_slots;   // [B]; -1 when the model has no recurrent state
  std::vector<std::int32_t> block_tables;  // [B, max_blocks], padded with 0
  std::int32_t max_blocks = 0;
  std::vector<SampleRow> samples;  // in row order; several may name one row (choices of a request that share a prompt)
  std::vector<CacheCopy> block_copies, state_copies;  // after the forward pass
};

struct SampledRow {
  TokenOutput token;
  Status error;  // not ok: this row could not be sampled
};

struct RunnerInfo {
  std::int32_t vocab_size = 0;
  std::int32_t block_tokens = 16;     // N
  std::int32_t num_blocks = 0;        // P; block 0 is usable like any other
  std::int32_t num_state_slots = 0;   // 0: the model has no recurrent state
  std::int32_t max_batch_tokens = 0;  // T of the largest step
  std::int32_t max_seqs = 0;          // B of the largest step
  std::int32_t max_logit_rows = 0;    // rows of the largest step with a sample, at least max_seqs; 0: no limit
};

class Runner {
 public:
  virtual ~Runner() = default;
  virtual const RunnerInfo& info() const = 0;
  virtual std::vector<SampledRow> step(const StepBatch& batch) = 0;  // one entry a SampleRow
};

}  // namespace hearth
