// batch.h — the arrays of a step from what was scheduled.
//
//   row t of sequence b: cu_seqlens_q[b] <= t < cu_seqlens_q[b + 1]; position = num_computed + (t - cu_seqlens_q[b])
//   slot_mapping[t] = block_tables[b][position / N] · N + position mod N
#pragma once

#include <span>
#include <vector>

#include "engine/runner.h"
#include "engine/scheduler.h"

namespace hearth {

// Room for the largest step.
void reserve_batch(StepBatch& batch, const EngineConfig& config, const RunnerInfo& info);

// Fills `batch` (vectors are reused) and, for each of batch.samples, the sequence it belongs to.
void build_batch(std::span<const Scheduled> scheduled, const RunnerInfo& info, StepBatch& batch,
                 std::vector<Sequence*>& sample_owners);

}  // namespace hearth
