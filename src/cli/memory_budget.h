// memory_budget.h — what the machine has, what of it may be taken, and how much of that the caches get.
//
//   limit = available − floor, and no more than --memory, nor than share · total
//
// The ledger itself (weights + caches + work space ≤ limit) is engine/memory_plan.h; it is worked out before anything
// is loaded, and a model that does not fit is refused with these numbers.
//
// Caches    --kv-cache-memory-bytes or --num-gpu-blocks-override as given; else, with a share or a cap, all that is left,
//           up to what --max-num-seqs sequences of full length can use; else a small default, at least one sequence of full length.
// Units     bytes.
// Errors    StartupError with the numbers, and which option gives more.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cli/load_options.h"
#include "engine/memory_plan.h"

namespace hearth {

// The program without a model: its code and libraries, the stacks of its threads, connections and what they hold under
// load. Measured with `serve` on the tiny models (bench/results/memory.jsonl).
inline constexpr std::int64_t kProgramBytes = std::int64_t{14} << 20;

struct MachineMemory {
  std::int64_t total = 0;
  std::int64_t available = 0;  // without swapping
};
// /proc/meminfo, and the limit of the control group where there is one.
MachineMemory machine_memory();

struct StartPlan {
  MachineMemory machine;
  std::int64_t floor = 0;
  std::string limit_from;  // which option, or the free memory, set plan.budget
  MemoryPlan plan;
  CacheNeeds cache_needs;
  bool cut_max_model_len = false;  // shorter than what the model was made for
};

// needs.cache_bytes is decided here.
StartPlan plan_start(const MachineMemory& machine, const MemoryOptions& options, MemoryNeeds needs);

// For the log, one thing a line.
std::vector<std::string> plan_lines(const StartPlan& plan);

}  // namespace hearth
