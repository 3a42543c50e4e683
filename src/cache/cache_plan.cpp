#include "cache/cache_plan.h"

#include <algorithm>
#include <limits>
#include <string>

namespace hearth {
namespace {

constexpr std::int64_t kMaxIds = std::numeric_limits<std::int32_t>::max();

std::int64_t blocks_for(const CacheNeeds& needs, std::int64_t tokens) {
  return (tokens + needs.block_tokens - 1) / needs.block_tokens;
}

std::string mib(std::int64_t bytes) {
  std::string text = std::to_string(bytes / 1048576) + "." + std::to_string(bytes % 1048576 * 10 / 1048576) + " MiB";
  return text;
}

// Block ids times N must stay an int32 slot number.
std::int64_t id_limit(const CacheNeeds& needs) { return kMaxIds / needs.block_tokens; }

}  // namespace

double CachePlan::concurrency(std::int32_t block_tokens) const {
  const double by_blocks =
      static_cast<double>(num_blocks) * block_tokens / static_cast<double>(std::max<std::int64_t>(1, max_model_len));
  return num_state_slots > 0 ? std::min(by_blocks, static_cast<double>(num_state_slots)) : by_blocks;
}

std::int64_t largest_useful_cache_bytes(const CacheNeeds& needs) {
  const std::int64_t length = needs.max_model_len > 0 ? needs.max_model_len : needs.max_model_len_limit;
  const std::int64_t blocks = std::min(id_limit(needs), needs.max_num_seqs * blocks_for(needs, length));
  return blocks * needs.block_tokens * needs.kv_bytes_per_token + needs.max_num_seqs * needs.state_bytes_per_slot;
}

Result<CachePlan> plan_cache(const CacheNeeds& needs, std::int64_t budget_bytes) {
  const std::int64_t block_bytes = needs.kv_bytes_per_token * needs.block_tokens;
  // What one sequence may use of blocks, with one slot set aside.
  const std::int64_t for_blocks = budget_bytes - needs.state_bytes_per_slot;
  const std::int64_t fitting_blocks =
      for_blocks < 0 ? 0 : (block_bytes > 0 ? std::min(for_blocks / block_bytes, id_limit(needs)) : id_limit(needs));
  const std::int64_t fitting_len = fitting_blocks * needs.block_tokens;

  CachePlan plan;
  plan.max_model_len = needs.max_model_len;
  if (plan.max_model_len <= 0) plan.max_model_len = std::min(needs.max_model_len_limit, fitting_len);
  const std::int64_t one = blocks_for(needs, plan.max_model_len);
  if (plan.max_model_len <= 0 || one > fitting_blocks) {
    const std::int64_t length = std::max<std::int64_t>(1, plan.max_model_len);
    std::string message = "a sequence of max_model_len " + std::to_string(length) + " tokens needs " +
                          mib(blocks_for(needs, length) * block_bytes + needs.state_bytes_per_slot) +
                          " of cache, and " + mib(std::max<std::int64_t>(0, budget_bytes)) + " is left for it";
    message += fitting_len > 0 ? "; the longest that fits is " + std::to_string(fitting_len) : "; no length fits";
    return invalid_argument(std::move(message), "max_model_len");
  }

  std::int64_t slots = 0;
  if (needs.state_bytes_per_slot > 0) {
    slots = std::min<std::int64_t>(needs.max_num_seqs, (budget_bytes - one * block_bytes) / needs.state_bytes_per_slot);
    slots = std::max<std::int64_t>(slots, 1);
  }
  const std::int64_t useful = needs.max_num_seqs * one;
  std::int64_t blocks = useful;
  if (block_bytes > 0) blocks = std::min(useful, (budget_bytes - slots * needs.state_bytes_per_slot) / block_bytes);
  blocks = std::min(blocks, id_limit(needs));
  plan.num_blocks = static_cast<std::int32_t>(blocks);
  plan.num_state_slots = static_cast<std::int32_t>(slots);
  plan.kv_bytes = blocks * block_bytes;
  plan.state_bytes = slots * needs.state_bytes_per_slot;
  return plan;
}

}  // namespace hearth
