// cache_plan.h — how many blocks and state slots a number of bytes buys. Arithmetic only; start-up and `show` share it.
//
//   kv bytes     = num_blocks · N · kv_bytes_per_token
//   state bytes  = num_state_slots · state_bytes_per_slot
//
// One sequence of max_model_len tokens must fit, whatever else. Slots come next, one a running sequence, as long as a sequence
// of full length keeps its blocks; blocks take the rest, up to what max_num_seqs sequences of full length can use.
//
// Units     bytes; tokens.
// Errors    invalid_argument with what one sequence needs, what there is, and the longest max_model_len that would fit.
#pragma once

#include <cstdint>

#include "base/result.h"

namespace hearth {

struct CacheNeeds {
  std::int64_t kv_bytes_per_token = 0;    // 0: no attention layer
  std::int32_t block_tokens = 16;         // N
  std::int64_t state_bytes_per_slot = 0;  // 0: no recurrent layer
  std::int32_t max_num_seqs = 256;
  std::int64_t max_model_len = 4096;     // 0: the longest that fits, at most max_model_len_limit
  std::int64_t max_model_len_limit = 0;  // what the model was made for; used with max_model_len == 0
};

struct CachePlan {
  std::int32_t num_blocks = 0;
  std::int32_t num_state_slots = 0;  // 0 when the model has no recurrent state
  std::int64_t max_model_len = 0;
  std::int64_t kv_bytes = 0;
  std::int64_t state_bytes = 0;
  // Sequences of full length that run at once.
  double concurrency(std::int32_t block_tokens) const;
};

Result<CachePlan> plan_cache(const CacheNeeds& needs, std::int64_t budget_bytes);

// The bytes that serve max_num_seqs sequences of max_model_len tokens: more buys nothing.
std::int64_t largest_useful_cache_bytes(const CacheNeeds& needs);

}  // namespace hearth
