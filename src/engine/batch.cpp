#include "engine/batch.h"

#include <algorithm>

#include "base/check.h"

namespace hearth {

void build_batch(std::span<const Scheduled> scheduled, const RunnerInfo& info, StepBatch& batch,
                 std::vector<Sequence*>& sample_owners) {
  batch.token_ids.clear();
  batch.positions.clear();
  batch.slot_mapping.clear();
  batch.cu_seqlens_q.assign(1, 0);
  batch.seq_lens.clear();
  batch.state_slots.clear();
  batch.samples.clear();
  sample_owners.clear();

  std::size_t widest = 1;
  for (const Scheduled& s : scheduled) widest = std::max(widest, s.sequence->table.blocks.size());
  batch.max_blocks = static_cast<std::int32_t>(widest);
  batch.block_tables.assign(scheduled.size() * widest, 0);

  for (std::size_t b = 0; b < scheduled.size(); ++b) {
    Sequence& sequence = *scheduled[b].sequence;
    const std::int32_t begin = sequence.num_computed, end = begin + scheduled[b].num_tokens;
    const auto& blocks = sequence.table.blocks;
    HEARTH_CHECK_LE(end, sequence.num_tokens());
    HEARTH_CHECK_LE(static_cast<std::int64_t>(end), static_cast<std::int64_t>(blocks.size()) * info.block_tokens);
    std::copy(blocks.begin(), blocks.end(), batch.block_tables.begin() + static_cast<std::ptrdiff_t>(b * widest));
    const bool prompt_rows = sequence.gathers_prompt_rows();
    const Request& request = sequence.owner->request;
    for (std::int32_t p = begin; p < end; ++p) {
      const auto row = static_cast<std::int32_t>(batch.token_ids.size());
      batch.token_ids.push_back(sequence.tokens[static_cast<std::size_t>(p)]);
      batch.positions.push_back(p);
      batch.slot_mapping.push_back(blocks[static_cast<std::size_t>(p / info.block_tokens)] * info.block_tokens +
                                   p % info.block_tokens);
      const bool last = p + 1 == sequence.num_tokens();
      const bool wants_prompt_row =
          prompt_rows && p >= sequence.owner->next_prompt_row && p + 1 < sequence.num_prompt();
      if (!wants_prompt_row && !(last && request.max_tokens > 0)) continue;
      SampleRow sample;
      sample.row = row;
      sample.params = &request.sampling;
      sample.prompt = sequence.prompt();
      sample.output = sequence.output();
      sample.seed = sequence.seed;
      sample.sample = !wants_prompt_row;
      if (wants_prompt_row) sample.target = sequence.tokens[static_cast<std::size_t>(p) + 1];
      batch.samples.push_back(sample);
      sample_owners.push_back(&sequence);
    }
    batch.cu_seqlens_q.push_back(static_cast<std::int32_t>(batch.token_ids.size()));
    batch.seq_lens.push_back(end);
    batch.state_slots.push_back(sequence.state_slot);
  }
}

}  // namespace hearth
