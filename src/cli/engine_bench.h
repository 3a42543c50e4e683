// engine_bench.h — speed of an engine, without a server: tokens a second of prompts and of generation.
//
// prompt       B requests of P tokens, one token each; time until the last has its token. P · B / time.
// generation   B requests of a short prompt and N tokens each; time between the step that gave the last of the first tokens and
//              the end. (N − 1) · B / time.
// The caller's thread runs the engine's steps: nothing else is timed. One unmeasured run comes first.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/engine.h"

namespace hearth {

struct BenchCase {
  bool prompt = true;
  int tokens = 512;  // P or N
  int batch = 1;
  int context = 0;  // generation: tokens before the first generated one
};

struct BenchTimes {
  std::vector<double> seconds;  // a repeat each
  std::vector<double> tokens_a_second;
  std::uint64_t steps = 0;  // of one repeat, timed part
  std::string error;        // a request failed
};

// engine is not started. vocab_size: prompts are random ids below it, by seed.
BenchTimes run_bench_case(Engine& engine, const BenchCase& c, int vocab_size, int repeats, std::uint64_t seed);

struct Spread {
  double median = 0, min = 0, max = 0;
};
Spread spread_of(std::vector<double> values);

}  // namespace hearth
