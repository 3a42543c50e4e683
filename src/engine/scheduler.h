// scheduler.h — which sequences run in the next step, and with how many tokens each.
//
// Order     rank: arrival (fcfs), or priority and then arrival (priority). Better ranks are served first everywhere.
//           A step takes, under max_num_batched_tokens:
//             1. decodes: running sequences with one token to run;
//             2. running prefills, in chunks;
//             3. waiting sequences, best rank first, none past one that does not fit. One whose prompt a running choice of the
//                same request is computing follows that one (sequence.h) and takes no tokens.
// Blocks    a sequence gets the blocks of all its known tokens when it is admitted (a follower: those it does not share), so
//           only decodes ask for more. When none is
//           free, the running sequence of the worst rank is preempted: its blocks go back, its tokens are computed again later.
//           A decode that is itself the worst waits a step instead. While blocks are short nothing is admitted, and a newcomer
//           must leave one free block for each running sequence, which keeps preemption rare.
// Progress  the best-ranked sequence alone always fits (can_ever_fit is checked when a request is submitted) and may preempt all
//           others, so every step computes something of it: no deadlock, and no starvation under fcfs.
// Threads   the engine thread only.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "cache/block_pool.h"
#include "cache/state_pool.h"
#include "engine/engine.h"
#include "engine/sequence.h"

namespace hearth {

struct Scheduled {
  Sequence* sequence = nullptr;
  std::int32_t num_tokens = 0;  // tokens [num_computed, num_computed + num_tokens) run
};

class Scheduler {
 public:
  Scheduler(const EngineConfig& config, const RunnerInfo& info);

  void add(Sequence& sequence);     // to the waiting queue
  void remove(Sequence& sequence);  // wherever it is; what it holds is free afterwards
  // The next step, decodes first; empty when nothing is left to run. Valid until the next call.
  const std::vector<Scheduled>& schedule();
  // After the step: the tokens of schedule() are computed.
  void advance(const Scheduled& done);

  std::int32_t num_running() const { return static_cast<std::int32_t>(running_.size()); }
  std::int32_t num_waiting() const { return static_cast<std::int32_t>(waiting_.size()); }
  const BlockPool& blocks() const { return blocks_; }
  const StatePool& states() const { return states_; }
  int num_preempted() const { return num_preempted_; }  // in the last schedule()
  int num_admitted() const { return num_admitted_; }
  void check_integrity() const;

 private:
  struct BetterRank {
    SchedulingPolicy policy;
    bool operator()(const Sequence* a, const Sequence* b) const;
  };
  Sequence* leader_for(const Sequence& sequence) const;
  void hand_over(Sequence& leader);
  void give_back(Sequence& sequence);
  void preempt_worst();
  void preempt_for_priority();
  bool fits(const Sequence& sequence, std::int32_t free_blocks, std::int32_t num_running,
            std::int32_t free_slots) const;
  std::int32_t chunk(const Sequence& sequence) const;
  void take(Sequence& sequence, std::int32_t num_tokens);
  void admit(Sequence& sequence, Sequence* leader);

  const EngineConfig config_;
  const RunnerInfo info_;
  BlockPool blocks_;
  StatePool states_;
  BetterRank better_;
  std::set<Sequence*, BetterRank> waiting_;
  std::vector<Sequence*> running_;  // best rank first
  std::vector<Scheduled> scheduled_;
  std::int32_t tokens_left_ = 0;  // of this step
  std::int32_t rows_left_ = 0;    // logit rows of this step
  int num_preempted_ = 0;
  int num_admitted_ = 0;
};

}  // namespace hearth
