#include "cli/memory_budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <sstream>

#include "base/status.h"

namespace hearth {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;
// Without any memory option: enough for a handful of conversations, and no burden for a small machine.
constexpr std::int64_t kDefaultCacheBytes = kGiB;
constexpr std::int64_t kDefaultFloorBytes = kGiB;

std::int64_t number_in(const char* file) {
  std::ifstream in(file);
  std::int64_t v = -1;
  return in >> v ? v : -1;
}

}  // namespace

MachineMemory machine_memory() {
  MachineMemory m;
  std::ifstream in("/proc/meminfo");
  std::string line;
  while (std::getline(in, line)) {
    std::istringstream words(line);
    std::string key;
    std::int64_t kib = 0;
    words >> key >> kib;
    if (key == "MemTotal:") m.total = kib * 1024;
    if (key == "MemAvailable:") m.available = kib * 1024;
  }
  if (m.total <= 0) throw StartupError("cannot read how much memory there is", "/proc/meminfo", "mount /proc");
  const std::int64_t group_limit = number_in("/sys/fs/cgroup/memory.max");  // "max" reads as no number
  const std::int64_t group_used = number_in("/sys/fs/cgroup/memory.current");
  if (group_limit > 0 && group_limit < m.total) {
    m.total = group_limit;
    m.available = std::min(m.available, std::max<std::int64_t>(0, group_limit - std::max<std::int64_t>(0, group_used)));
  }
  return m;
}

StartPlan plan_start(const MachineMemory& machine, const MemoryOptions& options, MemoryNeeds needs) {
  StartPlan p;
  p.machine = machine;
  p.cache_needs = needs.cache;
  p.floor = options.floor_bytes.value_or(std::min(kDefaultFloorBytes, machine.total / 16));
  std::int64_t limit = std::max<std::int64_t>(0, machine.available - p.floor);
  p.limit_from = fmt::format("{} free less a floor of {}", format_bytes(machine.available), format_bytes(p.floor));
  std::string more = "stop other programs or lower --memory-floor";
  if (options.cap_bytes > 0 && options.cap_bytes < limit) {
    limit = options.cap_bytes;
    p.limit_from = "--memory";
    more = "raise --memory";
  }
  if (options.utilization) {
    const auto share = static_cast<std::int64_t>(*options.utilization * static_cast<double>(machine.total));
    if (share < limit) {
      limit = share;
      p.limit_from =
          fmt::format("--gpu-memory-utilization {:g} of {}", *options.utilization, format_bytes(machine.total));
      more = "raise --gpu-memory-utilization";
    }
  }

  const CacheNeeds& c = needs.cache;
  const std::int64_t block_bytes = c.kv_bytes_per_token * c.block_tokens;
  std::string less = "lower --max-model-len, or pass --max-model-len auto";
  if (options.kv_cache_bytes > 0) {
    needs.cache_bytes = options.kv_cache_bytes;
    less += ", or raise --kv-cache-memory-bytes";
  } else if (options.num_blocks > 0) {
    needs.cache_bytes = options.num_blocks * block_bytes + c.max_num_seqs * c.state_bytes_per_slot;
    less += ", or raise --num-gpu-blocks-override";
  } else if (!options.utilization && options.cap_bytes == 0) {
    // One sequence of full length; where there is recurrent state, some that share the rest.
    const std::int64_t one = (c.max_model_len + c.block_tokens - 1) / c.block_tokens * block_bytes +
                             std::min(c.max_num_seqs, 8) * c.state_bytes_per_slot;
    const std::int64_t fixed =
        needs.weights + needs.activations + needs.logits + needs.workspace + needs.other + needs.program;
    const std::int64_t wanted =
        std::min(largest_useful_cache_bytes(c), std::max(one, std::min(kDefaultCacheBytes, machine.available / 8)));
    needs.cache_bytes = std::max<std::int64_t>(1, std::min(wanted, limit - fixed));
    less += ", or " + more;
  } else {
    less += ", or " + more;
  }
  Result<MemoryPlan> plan = plan_memory(needs, limit);
  if (!plan) {
    const Status& why = plan.status();
    throw StartupError(fmt::format("{} ({})", why.message, p.limit_from), "memory",
                       why.code != Code::resource_exhausted
                           ? less
                           : more + ", lower what is asked for the cache, or take a smaller model");
  }
  p.plan = *plan;
  if (options.num_blocks > 0 && options.num_blocks < p.plan.cache.num_blocks) {
    p.plan.cache.num_blocks = options.num_blocks;
    p.plan.kv_cache = p.plan.cache.kv_bytes = options.num_blocks * block_bytes;
  }
  // Slots and blocks share the budget of an override; the blocks that were asked for must still hold one sequence.
  const std::int64_t held = std::int64_t{p.plan.cache.num_blocks} * c.block_tokens;
  if (options.num_blocks > 0 && held < p.plan.cache.max_model_len)
    throw StartupError(fmt::format("{} blocks hold {} tokens, and max_model_len is {}", p.plan.cache.num_blocks, held,
                                   p.plan.cache.max_model_len),
                       "--num-gpu-blocks-override", less);
  p.cut_max_model_len = c.max_model_len == 0 && p.plan.cache.max_model_len < c.max_model_len_limit;
  return p;
}

std::vector<std::string> plan_lines(const StartPlan& p) {
  std::vector<std::string> out;
  out.push_back(fmt::format("memory: the machine has {}, {} available; {} may be taken ({})",
                            format_bytes(p.machine.total), format_bytes(p.machine.available),
                            format_bytes(p.plan.budget), p.limit_from));
  for (const std::string& line : p.plan.lines(p.cache_needs.block_tokens)) out.push_back("memory: " + line);
  out.push_back(fmt::format(
      "memory: {} of KV cache a token; max_model_len {}{}", format_bytes(p.cache_needs.kv_bytes_per_token),
      p.plan.cache.max_model_len,
      p.cut_max_model_len ? fmt::format(" (the model's {} does not fit)", p.cache_needs.max_model_len_limit) : ""));
  return out;
}

}  // namespace hearth
