#include "engine/scheduler.h"

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_map>

#include "base/check.h"

namespace hearth {

bool Scheduler::BetterRank::operator()(const Sequence* a, const Sequence* b) const {
  const int pa = policy == SchedulingPolicy::priority ? a->owner->request.priority : 0;
  const int pb = policy == SchedulingPolicy::priority ? b->owner->request.priority : 0;
  return std::tuple(pa, a->owner->arrival_number, a->index) < std::tuple(pb, b->owner->arrival_number, b->index);
}

Scheduler::Scheduler(const EngineConfig& config, const RunnerInfo& info)
    : config_(config),
      info_(info),
      blocks_(info.num_blocks, info.block_tokens),
      states_(info.num_state_slots),
      better_{config.policy},
      waiting_(better_) {}

void Scheduler::add(Sequence& sequence) {
  sequence.state = SequenceState::waiting;
  waiting_.insert(&sequence);
}

void Scheduler::remove(Sequence& sequence) {
  if (sequence.state == SequenceState::waiting) {
    waiting_.erase(&sequence);
  } else if (sequence.state == SequenceState::running) {
    std::erase(running_, &sequence);
  }
  give_back(sequence);
  sequence.state = SequenceState::ended;
}

// ---- sharing a prompt -----------------------------------------------------------------------------------------------------

// The running choice of the same request that computes the prompt this one needs; null when there is none.
Sequence* Scheduler::leader_for(const Sequence& sequence) const {
  if (sequence.num_output() > 0) return nullptr;
  for (const auto& other : sequence.owner->choices)
    if (other.get() != &sequence && other->state == SequenceState::running && other->leader == nullptr &&
        other->num_output() == 0 && other->num_computed < other->num_prompt())
      return other.get();
  return nullptr;
}

// The leader goes away in the middle of the prompt: the first of its followers goes on where it was, with what it held.
void Scheduler::hand_over(Sequence& leader) {
  Sequence* heir = nullptr;
  for (const auto& other : leader.owner->choices) {
    if (other->leader != &leader) continue;
    other->leader = heir;
    if (heir == nullptr) heir = other.get();
  }
  if (heir == nullptr) return;
  std::swap(heir->table, leader.table);
  std::swap(heir->state_slot, leader.state_slot);
  std::swap(heir->num_computed, leader.num_computed);
}

// ---- giving back ----------------------------------------------------------------------------------------------------------

void Scheduler::give_back(Sequence& sequence) {
  hand_over(sequence);
  sequence.leader = nullptr;
  sequence.num_computed = 0;
  blocks_.release(sequence.table);
  if (sequence.state_slot >= 0) states_.release(sequence.state_slot);
  sequence.state_slot = -1;
}

void Scheduler::preempt_worst() {
  Sequence& worst = *running_.back();
  running_.pop_back();
  give_back(worst);
  ++worst.owner->num_preemptions;
  ++num_preempted_;
  add(worst);
}

// Under the priority policy a waiting request takes the place of running ones whose priority is strictly worse, when that is
// enough to let it in. They cannot take it back, so nothing is thrown out twice for the same pair.
void Scheduler::preempt_for_priority() {
  if (config_.policy != SchedulingPolicy::priority || waiting_.empty()) return;
  const Sequence& head = **waiting_.begin();
  if (head.held() && leader_for(head) == nullptr) return;
  std::int32_t free_blocks = blocks_.num_free(), free_slots = states_.num_free(), num_running = this->num_running();
  std::unordered_map<std::int32_t, std::int32_t> dropped;  // references to a block that the victims give up
  int victims = 0;
  while (!fits(head, free_blocks, num_running, free_slots)) {
    if (num_running == 0) return;
    const Sequence& worst = *running_[static_cast<std::size_t>(num_running - 1)];
    if (worst.owner->request.priority <= head.owner->request.priority) return;
    for (const std::int32_t block : worst.table.blocks)
      if (++dropped[block] == blocks_.ref_count(block)) ++free_blocks;
    free_slots += worst.state_slot >= 0 ? 1 : 0;
    --num_running;
    ++victims;
  }
  while (victims-- > 0) preempt_worst();
}

// ---- taking ---------------------------------------------------------------------------------------------------------------

bool Scheduler::fits(const Sequence& sequence, std::int32_t free_blocks, std::int32_t num_running,
                     std::int32_t free_slots) const {
  if (num_running >= std::min(config_.max_num_seqs, info_.max_seqs)) return false;
  if (info_.num_state_slots > 0 && free_slots == 0) return false;
  const bool follows = leader_for(sequence) != nullptr;
  const std::int32_t own_block = sequence.num_prompt() % blocks_.block_tokens() != 0 ? 1 : 0;
  return (follows ? own_block : blocks_.blocks_for(sequence.num_tokens())) + num_running <= free_blocks;
}

// How many of the sequence's tokens this step has room for. 0: none.
std::int32_t Scheduler::chunk(const Sequence& sequence) const {
  const std::int32_t to_run = sequence.num_to_run();
  std::int32_t n = std::min(to_run, tokens_left_);
  if (config_.enable_chunked_prefill && config_.long_prefill_token_threshold > 0)
    n = std::min(n, config_.long_prefill_token_threshold);
  if (n <= 0) return 0;
  // Logit rows: one for the last token, and with prompt logprobs one for each prompt token but the last.
  const std::int32_t begin = sequence.num_computed, end = begin + n;
  std::int32_t first_row = begin, prompt_rows = 0;
  if (sequence.gathers_prompt_rows()) {
    first_row = std::max(begin, sequence.owner->next_prompt_row);
    prompt_rows = std::max(0, std::min(end, sequence.num_prompt() - 1) - first_row);
  }
  if (prompt_rows > rows_left_) return first_row - begin + rows_left_;
  if (n == to_run && prompt_rows + 1 > rows_left_) return n - 1;
  return n;
}

void Scheduler::take(Sequence& sequence, std::int32_t num_tokens) {
  const std::int32_t begin = sequence.num_computed, end = begin + num_tokens;
  tokens_left_ -= num_tokens;
  if (sequence.gathers_prompt_rows())
    rows_left_ -=
        std::max(0, std::min(end, sequence.num_prompt() - 1) - std::max(begin, sequence.owner->next_prompt_row));
  if (end == sequence.num_tokens()) --rows_left_;
  scheduled_.push_back({&sequence, num_tokens});
}

void Scheduler::admit(Sequence& sequence, Sequence* leader) {
  waiting_.erase(&sequence);
  sequence.state = SequenceState::running;
  if (sequence.tokens.empty()) sequence.tokens = sequence.owner->request.prompt;
  if (leader != nullptr) {
    std::optional<BlockTable> table = blocks_.fork(leader->table, sequence.num_prompt());
    HEARTH_CHECK(table.has_value());
    sequence.table = *std::move(table);
    sequence.leader = leader;
  } else {
    const PrefixMatch match = blocks_.start(sequence.table, sequence.tokens);
    sequence.num_computed = match.num_cached_tokens;
    HEARTH_CHECK(blocks_.grow(sequence.table, sequence.num_tokens()));
  }
  if (info_.num_state_slots > 0) sequence.state_slot = states_.allocate();
  running_.insert(std::upper_bound(running_.begin(), running_.end(), &sequence, better_), &sequence);
  ++num_admitted_;
}

const std::vector<Scheduled>& Scheduler::schedule() {
  scheduled_.clear();
  num_preempted_ = num_admitted_ = 0;
  tokens_left_ = std::min(config_.max_num_batched_tokens, info_.max_batch_tokens);
  rows_left_ = info_.max_logit_rows > 0 ? info_.max_logit_rows : std::numeric_limits<std::int32_t>::max();

  preempt_for_priority();

  // 1. Decodes. Victims come from the end of running_, behind the one that asks, so none of them is scheduled yet.
  bool short_of_blocks = false;
  for (std::size_t i = 0; i < running_.size(); ++i) {
    Sequence& sequence = *running_[i];
    if (sequence.leader != nullptr || sequence.num_to_run() != 1) continue;
    bool room = true;
    while (!blocks_.grow(sequence.table, sequence.num_tokens())) {
      short_of_blocks = true;
      if (running_.back() == &sequence) {
        room = false;
        break;
      }
      preempt_worst();
    }
    if (room) take(sequence, 1);
  }
  // 2. Prefills that have begun.
  for (Sequence* sequence : running_) {
    if (sequence->leader != nullptr || sequence->num_to_run() == 1) continue;
    if (const std::int32_t n = chunk(*sequence); n > 0) take(*sequence, n);
  }
  // 3. Newcomers.
  while (!short_of_blocks && !waiting_.empty()) {
    Sequence& head = **waiting_.begin();
    if (!fits(head, blocks_.num_free(), num_running(), states_.num_free())) break;
    if (Sequence* leader = leader_for(head)) {
      admit(head, leader);
      continue;
    }
    if (head.held() || tokens_left_ == 0) break;
    // A prompt whose every row is wanted is cut to the logit rows there are, chunked prefill or not.
    if (!config_.enable_chunked_prefill && !head.gathers_prompt_rows() && chunk(head) < head.num_to_run()) break;
    if (chunk(head) == 0) break;
    admit(head, nullptr);
    take(head, chunk(head));
  }
  return scheduled_;
}

void Scheduler::advance(const Scheduled& done) {
  Sequence& sequence = *done.sequence;
  sequence.num_computed += done.num_tokens;
  blocks_.commit(sequence.table, sequence.tokens, sequence.num_computed);
  if (sequence.num_computed != sequence.num_prompt()) return;
  for (const auto& follower : sequence.owner->choices) {
    if (follower->leader != &sequence) continue;
    follower->leader = nullptr;
    follower->num_computed = sequence.num_computed;
    blocks_.commit(follower->table, follower->tokens, follower->num_computed);
  }
}

void Scheduler::check_integrity() const {
  blocks_.check_integrity();
  states_.check_integrity();
  if (!running_.empty() || !waiting_.empty()) return;
  HEARTH_CHECK_EQ(blocks_.num_free(), blocks_.num_blocks());
  HEARTH_CHECK_EQ(states_.num_free(), states_.num_slots());
}

}  // namespace hearth
