// memory_plan.h — the ledger of device memory: what each purpose takes, worked out before anything is allocated. Start-up prints
// it, `show` and --dry-run print it without loading, and a model that does not fit is refused with its numbers.
//
//   total = weights + kv_cache + state + activations + logits + workspace + other + program <= budget
//
// Everything but the cache is fixed by the model and the limits; the cache takes what is left, up to what is useful
// (cache/cache_plan.h) or what was asked for.
//
// Units     bytes.
// Errors    resource_exhausted: what is needed without a cache, and the budget. invalid_argument (max_model_len): what is left for
//           the cache does not hold one sequence.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "cache/cache_plan.h"
#include "models/model_def.h"
#include "tensor/tensor.h"

namespace hearth {

struct MemoryNeeds {
  std::int64_t weights = 0;
  std::int64_t activations = 0;  // without the logits
  std::int64_t logits = 0;
  std::int64_t workspace = 0;  // Ops::workspace_bytes, and what sampling takes
  std::int64_t other = 0;      // step tensors
  std::int64_t program = 0;    // code, vocabulary, threads, connections
  CacheNeeds cache;
  std::int64_t cache_bytes = 0;  // KV and state together; 0: as much as is useful and fits
};

struct MemoryPlan {
  std::int64_t weights = 0, kv_cache = 0, state = 0, activations = 0, logits = 0, workspace = 0, other = 0, program = 0;
  std::int64_t budget = 0;
  CachePlan cache;

  std::int64_t total() const { return weights + kv_cache + state + activations + logits + workspace + other + program; }
  // One line a purpose and the total, for the start-up log.
  std::vector<std::string> lines(std::int32_t block_tokens) const;
};

Result<MemoryPlan> plan_memory(const MemoryNeeds& needs, std::int64_t budget_bytes);

// What a model's caches cost: bytes a token and a slot, with KV stored as kv_dtype.
CacheNeeds cache_needs(const CacheSpec& spec, DType kv_dtype, std::int32_t block_tokens, std::int32_t max_num_seqs,
                       std::int64_t max_model_len);

// "1.50 GiB", "12.0 MiB", "512 bytes".
std::string format_bytes(std::int64_t bytes);

}  // namespace hearth
