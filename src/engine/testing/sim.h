// sim.h — a seeded simulation of the engine over a HashRunner and a fake clock: random limits (tiny pools force preemption),
// arrivals, lengths, choices, priorities, aborts, stops, poisoned rows and lost devices.
//
// It checks, for each seed: every accepted request ends, once; what each choice says equals straight_line() (a prefix of it when
// it was cut off); with room for all, each prompt is computed once; refusals are exactly the predicted ones; an abort frees everything within a step; no step exceeds its limits;
// fcfs starts requests in order and no schedule takes more steps than its tokens allow (nothing starves or spins); blocks, slots,
// statistics and metrics add up.
#pragma once

#include <cstdint>
#include <string>

namespace hearth {

struct SimResult {
  std::string failure;  // empty: all held
  std::int64_t num_steps = 0;
  std::int64_t num_requests = 0;
  std::int64_t num_preemptions = 0;
  std::int64_t num_tokens = 0;
  std::int64_t num_copies = 0;  // of blocks and slots, for choices that share a prompt
};

SimResult run_simulation(std::uint64_t seed);

}  // namespace hearth
