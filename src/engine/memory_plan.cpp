#include "engine/memory_plan.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth {

std::string format_bytes(std::int64_t bytes) {
  const auto b = static_cast<double>(bytes);
  if (bytes >= std::int64_t{1} << 30) return fmt::format("{:.2f} GiB", b / 1073741824.0);
  if (bytes >= std::int64_t{1} << 20) return fmt::format("{:.1f} MiB", b / 1048576.0);
  if (bytes >= std::int64_t{1} << 10) return fmt::format("{:.1f} KiB", b / 1024.0);
  return fmt::format("{} bytes", bytes);
}

CacheNeeds cache_needs(const CacheSpec& spec, DType kv_dtype, std::int32_t block_tokens, std::int32_t max_num_seqs,
                       std::int64_t max_model_len) {
  CacheNeeds needs;
  needs.kv_bytes_per_token = spec.kv_elems_per_token() * dtype_bytes(kv_dtype);
  needs.block_tokens = block_tokens;
  needs.state_bytes_per_slot = spec.state_bytes_per_slot();
  needs.max_num_seqs = max_num_seqs;
  needs.max_model_len = max_model_len;
  return needs;
}

Result<MemoryPlan> plan_memory(const MemoryNeeds& needs, std::int64_t budget_bytes) {
  MemoryPlan plan;
  plan.budget = budget_bytes;
  plan.weights = needs.weights;
  plan.activations = needs.activations;
  plan.logits = needs.logits;
  plan.workspace = needs.workspace;
  plan.other = needs.other;
  plan.program = needs.program;
  const std::int64_t fixed = plan.total();
  if (fixed > budget_bytes)
    return Status{Code::resource_exhausted,
                  fmt::format("the model needs {} without any cache (weights {}, activations {}, logits {}, workspace "
                              "{}, other {}, program {}), and {} may be used",
                              format_bytes(fixed), format_bytes(plan.weights), format_bytes(plan.activations),
                              format_bytes(plan.logits), format_bytes(plan.workspace), format_bytes(plan.other),
                              format_bytes(plan.program), format_bytes(budget_bytes)),
                  {}};
  if (needs.cache_bytes > budget_bytes - fixed)
    return Status{Code::resource_exhausted,
                  fmt::format("a cache of {} was asked for; the model needs {} beside it, and {} may be used",
                              format_bytes(needs.cache_bytes), format_bytes(fixed), format_bytes(budget_bytes)),
                  "kv_cache_memory_bytes"};
  Result<CachePlan> cache = plan_cache(needs.cache, needs.cache_bytes > 0 ? needs.cache_bytes : budget_bytes - fixed);
  if (!cache) return cache.status();
  plan.cache = *cache;
  plan.kv_cache = plan.cache.kv_bytes;
  plan.state = plan.cache.state_bytes;
  return plan;
}

std::vector<std::string> MemoryPlan::lines(std::int32_t block_tokens) const {
  std::vector<std::string> out;
  auto line = [&](std::string_view name, std::int64_t bytes, const std::string& note) {
    if (bytes > 0)
      out.push_back(fmt::format("{:<12} {:>11}{}{}", name, format_bytes(bytes), note.empty() ? "" : "  ", note));
  };
  line("weights", weights, "");
  line("kv_cache", kv_cache,
       fmt::format("{} blocks of {} tokens: {:.1f} sequences of {} tokens at once", cache.num_blocks, block_tokens,
                   cache.concurrency(block_tokens), cache.max_model_len));
  line("state", state,
       fmt::format("{} slots of {}", cache.num_state_slots,
                   format_bytes(cache.num_state_slots > 0 ? state / cache.num_state_slots : 0)));
  line("activations", activations, "");
  line("logits", logits, "");
  line("workspace", workspace, "");
  line("other", other, "");
  line("program", program, "code, vocabulary, threads");
  line("total", total(), fmt::format("of {}", format_bytes(budget)));
  return out;
}

}  // namespace hearth
