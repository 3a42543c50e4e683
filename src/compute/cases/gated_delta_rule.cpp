#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compute/case_bench.h"

namespace hearth {
namespace {

struct Heads {
  std::int64_t Hk, Hv, Dk, Dv;
};

struct Inputs {
  CaseBatch c;
  Tensor q, k, v;  // views of one [T, C] matrix, as the convolution leaves it
  Input g, beta, state;
};

void normalise(std::vector<float>& rows, std::int64_t row, std::int64_t begin, std::int64_t d, double scale) {
  for (std::size_t at = static_cast<std::size_t>(begin); at < rows.size(); at += static_cast<std::size_t>(row)) {
    double sum = 1e-6;
    for (std::size_t i = at; i < at + static_cast<std::size_t>(d); ++i) sum += static_cast<double>(rows[i]) * rows[i];
    for (std::size_t i = at; i < at + static_cast<std::size_t>(d); ++i)
      rows[i] = static_cast<float>(rows[i] * scale / std::sqrt(sum));
  }
}

Inputs make(CaseBench& b, const Heads& h, const std::vector<CaseSequence>& sequences) {
  Inputs in;
  in.c = b.batch(sequences, 16);
  const std::int64_t T = in.c.T, kq = h.Hk * h.Dk, C = 2 * kq + h.Hv * h.Dv;
  std::vector<float> qkv(static_cast<std::size_t>(T * C));
  for (float& x : qkv) x = static_cast<float>(b.rng.normal());
  for (std::int64_t i = 0; i < h.Hk; ++i) {
    normalise(qkv, C, i * h.Dk, h.Dk, 1 / std::sqrt(static_cast<double>(h.Dk)));
    normalise(qkv, C, kq + i * h.Dk, h.Dk, 1);
  }
  const Input all = b.numbers({T, C}, std::move(qkv));
  in.q = all.t.slice(1, 0, kq).heads(h.Hk);
  in.k = all.t.slice(1, kq, 2 * kq).heads(h.Hk);
  in.v = all.t.slice(1, 2 * kq, C).heads(h.Hv);
  in.g = b.uniform({T, h.Hv}, -2, 0);
  in.beta = b.uniform({T, h.Hv}, 0, 1);
  in.state = b.normal({in.c.num_slots, h.Hv, h.Dk, h.Dv});
  return in;
}

// A step multiplies what was wrong in S by e^g (I − beta k kᵀ), which shrinks it, and adds fresh roundings: of Σ S k (Dk
// terms, in any order) and of the update. Roundings have no common sign, so they add up like √(Dk · T): 4 u √(Dk · T) + 8
// times the largest number in S and v. Reading with q (Σ|q| ≤ 1) adds no more than that again.
double bound(const Heads& h, std::int64_t T) {
  const double largest = 8;  // normal numbers of the state, v, and S kept near them by the update
  return 4 * kU * (std::sqrt(static_cast<double>(h.Dk * T)) + 8) * largest;
}

std::vector<CaseOutput> run(Ops& ops, const Heads& h, HeadMap map, const std::vector<CaseSequence>& sequences,
                            std::uint64_t seed) {
  CaseBench b(ops, seed);
  const Inputs in = make(b, h, sequences);
  const Tensor y = b.out({in.c.T, h.Hv, h.Dv});
  ops.gated_delta_rule(y, in.q, in.k, in.v, in.g.t, in.beta.t, in.state.t, map, in.c.batch);
  const std::vector<float> out = b.read(y), s = b.read(in.state.t);
  std::vector<double> state_tolerance(s.size(),
                                      0.0);  // slots of no sequence, and of one without rows, stay as they are
  const std::size_t slot = s.size() / static_cast<std::size_t>(in.c.num_slots);
  for (std::size_t i = 0; i < sequences.size(); ++i)
    if (sequences[i].rows > 0)
      std::fill_n(
          state_tolerance.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(in.c.state_slots[i]) * slot),
          slot, bound(h, in.c.T));
  return {{"y", out, std::vector<double>(out.size(), bound(h, in.c.T))}, {"state", s, state_tolerance}};
}

std::vector<CaseOutput> run_split(Ops& ops, HeadMap map, std::int64_t cached, const std::vector<std::int64_t>& cuts,
                                  std::uint64_t seed) {
  const Heads h{2, 4, 128, 128};
  CaseBench b(ops, seed);
  const Inputs in = make(b, h, {{cached, cuts.back()}});
  const Input same_state = b.numbers({in.c.num_slots, h.Hv, h.Dk, h.Dv}, in.state.v);
  const Tensor whole = b.out({in.c.T, h.Hv, h.Dv}), cut = b.out({in.c.T, h.Hv, h.Dv});
  ops.gated_delta_rule(whole, in.q, in.k, in.v, in.g.t, in.beta.t, in.state.t, map, in.c.batch);
  std::int64_t begin = 0;
  for (const std::int64_t end : cuts) {
    Batch one = in.c.batch;
    one.positions = in.c.batch.positions.slice(0, begin, end);
    one.slot_mapping = in.c.batch.slot_mapping.slice(0, begin, end);
    one.seq_of_row = in.c.batch.seq_of_row.slice(0, begin, end);
    one.cu_seqlens_q = b.ints({2}, {0, static_cast<std::int32_t>(end - begin)});
    one.seq_lens = b.ints({1}, {in.c.positions[static_cast<std::size_t>(end - 1)] + 1});
    const auto rows = [&](const Tensor& t) { return t.slice(0, begin, end); };
    ops.gated_delta_rule(rows(cut), rows(in.q), rows(in.k), rows(in.v), rows(in.g.t), rows(in.beta.t), same_state.t,
                         map, one);
    begin = end;
  }
  return {same_bits("y", b.read(whole), b.read(cut)), same_bits("state", b.read(in.state.t), b.read(same_state.t))};
}

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  const Heads heads[] = {{2, 4, 128, 128}, {2, 2, 128, 128}, {1, 3, 20, 36}};
  const std::vector<CaseSequence> batches[] = {{{0, 1}}, {{0, 66}}, {{5, 4}, {0, 13}, {9, 0}, {1, 1}}};
  for (const HeadMap map : {HeadMap::grouped, HeadMap::tiled}) {
    const char* label = map == HeadMap::tiled ? "tiled" : "grouped";
    for (const Heads& h : heads)
      for (std::size_t i = 0; i < std::size(batches); ++i)
        list.push_back(
            {fmt::format("gated_delta_rule {} Hk={} Hv={} Dk={} Dv={} batch={}", label, h.Hk, h.Hv, h.Dk, h.Dv, i),
             [=, sequences = batches[i]](Ops& ops) { return run(ops, h, map, sequences, mix64(seed + i)); }});
    std::vector<std::int64_t> each;
    for (std::int64_t t = 1; t <= 128; ++t) each.push_back(t);
    for (const std::int64_t cached : {0, 9}) {
      list.push_back({fmt::format("gated_delta_rule {} 128 = 64 + 64 after {}", label, cached), [=](Ops& ops) {
                        return run_split(ops, map, cached, {64, 128}, seed);
                      }});
      list.push_back({fmt::format("gated_delta_rule {} 128 = 128 x 1 after {}", label, cached),
                      [=](Ops& ops) { return run_split(ops, map, cached, each, seed); }});
    }
  }
}

}  // namespace

extern const OpCases cases_gated_delta_rule;
const OpCases cases_gated_delta_rule{"gated_delta_rule", add};

}  // namespace hearth
