#include <fmt/format.h>

#include <cmath>

#include "compute/case_bench.h"

namespace hearth {
namespace {

// The rows [begin, end) of sequence 0 of a batch of one, as a step of its own.
Batch piece(CaseBench& b, const CaseBatch& c, std::int64_t begin, std::int64_t end) {
  Batch one = c.batch;
  one.positions = c.batch.positions.slice(0, begin, end);
  one.slot_mapping = c.batch.slot_mapping.slice(0, begin, end);
  one.seq_of_row = c.batch.seq_of_row.slice(0, begin, end);
  one.cu_seqlens_q = b.ints({2}, {0, static_cast<std::int32_t>(end - begin)});
  one.seq_lens = b.ints({1}, {c.positions[static_cast<std::size_t>(end - 1)] + 1});
  return one;
}

std::vector<CaseOutput> run(Ops& ops, const std::vector<CaseSequence>& sequences, std::int64_t C, std::uint64_t seed) {
  CaseBench b(ops, seed);
  const CaseBatch c = b.batch(sequences, 16);
  const Input u = b.normal({c.T, C}), w = b.normal({C, 4}), state = b.normal({c.num_slots, 3, C});
  const Tensor out = b.out({c.T, C});
  ops.causal_conv1d(out, u.t, w.t, state.t, c.batch);
  const std::vector<float> o = b.read(out), s = b.read(state.t);
  // Four products below 4 · 4 · 4 = 64 at most: (4 + 4) u · 64 before silu, whose slope is at most 1.1; then its own 24 u.
  std::vector<double> tolerance;
  for (const float v : o) tolerance.push_back(8 * kU * 64 * 1.1 + 24 * kU * std::fabs(static_cast<double>(v)));
  return {{"out", o, tolerance},
          {"state", s, exactly(s.size())}};  // inputs are kept as they are; other slots untouched
}

std::vector<CaseOutput> run_split(Ops& ops, std::int64_t cached, const std::vector<std::int64_t>& cuts,
                                  std::uint64_t seed) {
  const std::int64_t C = 48;
  CaseBench b(ops, seed);
  const CaseBatch c = b.batch({{cached, cuts.back()}}, 16);
  const Input u = b.normal({c.T, C}), w = b.normal({C, 4}), state = b.normal({c.num_slots, 3, C});
  const Input same_state = b.numbers({c.num_slots, 3, C}, state.v);
  const Tensor whole = b.out({c.T, C}), cut = b.out({c.T, C});
  ops.causal_conv1d(whole, u.t, w.t, state.t, c.batch);
  std::int64_t begin = 0;
  for (const std::int64_t end : cuts) {
    ops.causal_conv1d(cut.slice(0, begin, end), u.t.slice(0, begin, end), w.t, same_state.t, piece(b, c, begin, end));
    begin = end;
  }
  return {same_bits("out", b.read(whole), b.read(cut)), same_bits("state", b.read(state.t), b.read(same_state.t))};
}

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  const std::vector<CaseSequence> batches[] = {
      {{0, 1}}, {{0, 2}, {7, 1}}, {{5, 4}, {0, 13}, {9, 0}, {1, 1}}, {{0, 130}}};
  for (const std::int64_t C : {40, 1024})
    for (std::size_t i = 0; i < std::size(batches); ++i)
      list.push_back({fmt::format("causal_conv1d C={} batch={}", C, i),
                      [=, sequences = batches[i]](Ops& ops) { return run(ops, sequences, C, mix64(seed + i)); }});
  for (const std::int64_t cached : {0, 9}) {
    std::vector<std::int64_t> each;
    for (std::int64_t t = 1; t <= 128; ++t) each.push_back(t);
    list.push_back({fmt::format("causal_conv1d 128 = 64 + 64 after {}", cached), [=](Ops& ops) {
                      return run_split(ops, cached, {64, 128}, seed);
                    }});
    list.push_back({fmt::format("causal_conv1d 128 = 128 x 1 after {}", cached),
                    [=](Ops& ops) { return run_split(ops, cached, each, seed); }});
    list.push_back({fmt::format("causal_conv1d 5 = 1 + 2 + 2 after {}", cached), [=](Ops& ops) {
                      return run_split(ops, cached, {1, 3, 5}, seed);
                    }});
  }
}

}  // namespace

extern const OpCases cases_causal_conv1d;
const OpCases cases_causal_conv1d{"causal_conv1d", add};

}  // namespace hearth
