#include "engine/batch.h"

#include <algorithm>

#include "base/check.h"

namespace hearth {
namespace {

SampleRow& add_sample(StepBatch& batch, std::int32_t row, Sequence& sequence, std::vector<Sequence*>& sample_owners) {
  SampleRow sample;
  sample.row = row;
  sample.params = &sequence.owner->request.sampling;
  sample.prompt = sequence.prompt();
  sample.output = sequence.output();
  sample.seed = sequence.seed;
  sample_owners.push_back(&sequence);
  return batch.samples.emplace_back(sample);
}

// The last token of the leader's prompt is in the batch: its followers get what they do not share, and a token each from its row.
void fork_followers(StepBatch& batch, const Sequence& leader, const RunnerInfo& info,
                    std::vector<Sequence*>& sample_owners) {
  const auto last_row = static_cast<std::int32_t>(batch.token_ids.size()) - 1;
  const auto whole = static_cast<std::size_t>(leader.num_prompt() / info.block_tokens);
  for (const auto& follower : leader.owner->choices) {
    if (follower->leader != &leader) continue;
    if (leader.num_prompt() % info.block_tokens != 0)
      batch.block_copies.push_back({leader.table.blocks[whole], follower->table.blocks[whole]});
    if (leader.state_slot >= 0) batch.state_copies.push_back({leader.state_slot, follower->state_slot});
    add_sample(batch, last_row, *follower, sample_owners);
  }
}

}  // namespace

void reserve_batch(StepBatch& batch, const EngineConfig& config, const RunnerInfo& info) {
  const auto t = static_cast<std::size_t>(config.max_num_batched_tokens),
             b = static_cast<std::size_t>(config.max_num_seqs);
  const auto blocks = static_cast<std::size_t>((config.max_model_len + info.block_tokens - 1) / info.block_tokens);
  for (auto* rows : {&batch.token_ids, &batch.positions, &batch.slot_mapping}) rows->reserve(t);
  for (auto* sequences : {&batch.cu_seqlens_q, &batch.seq_lens, &batch.state_slots}) sequences->reserve(b + 1);
  batch.block_tables.reserve(b * blocks);
  batch.samples.reserve(static_cast<std::size_t>(info.max_logit_rows) + b);
}

void build_batch(std::span<const Scheduled> scheduled, const RunnerInfo& info, StepBatch& batch,
                 std::vector<Sequence*>& sample_owners) {
  batch.token_ids.clear();
  batch.positions.clear();
  batch.slot_mapping.clear();
  batch.cu_seqlens_q.assign(1, 0);
  batch.seq_lens.clear();
  batch.state_slots.clear();
  batch.samples.clear();
  batch.block_copies.clear();
  batch.state_copies.clear();
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
      SampleRow& sample = add_sample(batch, row, sequence, sample_owners);
      sample.sample = !wants_prompt_row;
      if (wants_prompt_row) sample.target = sequence.tokens[static_cast<std::size_t>(p) + 1];
    }
    if (end == sequence.num_tokens() && request.max_tokens > 0) fork_followers(batch, sequence, info, sample_owners);
    batch.cu_seqlens_q.push_back(static_cast<std::int32_t>(batch.token_ids.size()));
    batch.seq_lens.push_back(end);
    batch.state_slots.push_back(sequence.state_slot);
  }
}

}  // namespace hearth
