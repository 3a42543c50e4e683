// scratch.h — what the reference's operations take beside their inputs and outputs.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "quant/fp8_block128.h"
#include "tensor/arena.h"

namespace hearth {

struct Fp8Row {  // a row of activations in FP8
  std::byte* q;  // [K]
  float* scales;
  Fp8Row(Arena& a, std::int64_t K) : q(a.take<std::byte>(K)), scales(a.take<float>(fp8_blocks(K))) {}
};

struct LinearScratch {
  float* row;  // [K] of the matrix, widened
  float* x;    // [T, K] as they meet it
  Fp8Row fp8;
  LinearScratch(Arena& a, std::int64_t T, std::int64_t K) : row(a.take<float>(K)), x(a.take<float>(T * K)), fp8(a, K) {}
};

struct ScoreScratch {
  double* p;  // [S] scores, then their exponentials
  double* o;  // [K]
  ScoreScratch(Arena& a, std::int64_t S, std::int64_t K) : p(a.take<double>(S)), o(a.take<double>(K)) {}
};

struct DeltaScratch {
  double *read, *delta;  // [Dv]
  DeltaScratch(Arena& a, std::int64_t Dv) : read(a.take<double>(Dv)), delta(a.take<double>(Dv)) {}
};

struct RouterScratch {
  std::int32_t* order;  // [A]
  bool* taken;          // [E]
  RouterScratch(Arena& a, std::int64_t A, std::int64_t E) : order(a.take<std::int32_t>(A)), taken(a.take<bool>(E)) {}
};

struct ExpertScratch {
  double* sum;              // [T, D]
  float *gate, *up, *down;  // of one expert, widened
  float *x, *act, *act_in;  // [D], [F], [F]; x and act_in as they meet the weights
  Fp8Row fp8;
  ExpertScratch(Arena& a, std::int64_t T, std::int64_t D, std::int64_t F)
      : sum(a.take<double>(T * D)),
        gate(a.take<float>(F * D)),
        up(a.take<float>(F * D)),
        down(a.take<float>(D * F)),
        x(a.take<float>(D)),
        act(a.take<float>(F)),
        act_in(a.take<float>(F)),
        fp8(a, std::max(D, F)) {}
};

}  // namespace hearth
