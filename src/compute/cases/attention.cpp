// write_kv and attention through block tables out of order.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compute/case_bench.h"

namespace hearth {
namespace {

const char* dtype_label(DType d) { return dtype_name(d); }

std::vector<CaseOutput> run_write(Ops& ops, DType dtype, std::uint64_t seed) {
  CaseBench b(ops, seed);
  const std::int64_t G = 2, K = 40, N = 16;
  const CaseBatch c = b.batch({{0, 5}, {13, 9}, {31, 1}}, N);
  const Input cache_k = b.cache(dtype, {c.num_blocks, N, G, K}), cache_v = b.cache(dtype, {c.num_blocks, N, G, K});
  const Input k = b.normal({c.T, G, K}), v = b.normal({c.T, G, K});
  ops.write_kv({cache_k.t, cache_v.t}, k.t, v.t, c.batch);
  const std::vector<float> new_k = b.read(cache_k.t), new_v = b.read(cache_v.t);
  return {{"k", new_k, exactly(new_k.size())},
          {"v", new_v, exactly(new_v.size())}};  // rounding to nearest, ties to even
}

struct Heads {
  std::int64_t H, G, K;
};

std::vector<CaseOutput> run(Ops& ops, DType dtype, Heads heads, const std::vector<CaseSequence>& sequences,
                            std::int64_t N, std::uint64_t seed) {
  CaseBench b(ops, seed);
  const std::int64_t H = heads.H, G = heads.G, K = heads.K;
  const CaseBatch c = b.batch(sequences, N);
  const Input k = b.cache(dtype, {c.num_blocks, N, G, K}), v = b.cache(dtype, {c.num_blocks, N, G, K});
  const Input q = b.normal({c.T, H, K}, 2.0);
  const Tensor out = b.out({c.T, H, K}), alone = b.out({c.T, H, K});
  const auto scale = static_cast<float>(1 / std::sqrt(static_cast<double>(K)));
  ops.attention(out, q.t, {k.t, v.t}, c.batch, scale);
  // Each row as a step of its own, as decode would run it: one sequence, one row.
  for (std::int64_t t = 0; t < c.T; ++t) {
    const auto i = static_cast<std::size_t>(t);
    const std::int64_t seq = c.seq_of_row[i];
    Batch one = c.batch;
    one.positions = c.batch.positions.slice(0, t, t + 1);
    one.slot_mapping = c.batch.slot_mapping.slice(0, t, t + 1);
    one.seq_of_row = b.ints({1}, {0});
    one.cu_seqlens_q = b.ints({2}, {0, 1});
    one.seq_lens = b.ints({1}, {c.positions[i] + 1});
    one.block_tables = c.batch.block_tables.slice(0, seq, seq + 1);
    one.state_slots = c.batch.state_slots.slice(0, seq, seq + 1);
    ops.attention(alone.slice(0, t, t + 1), q.t.slice(0, t, t + 1), {k.t, v.t}, one, scale);
  }
  // A score of K products is wrong by at most (K + 2) u Σ|q k| scale; a probability by e^(twice that) and the rounding of
  // exp, of the sum of L of them and of the division; an output adds its own sum of L products.
  std::vector<double> tolerance;
  for (std::int64_t t = 0; t < c.T; ++t) {
    const auto ti = static_cast<std::size_t>(t);
    const std::int32_t* blocks = c.block_tables.data() + c.seq_of_row[ti] * c.max_blocks;
    const std::int64_t L = c.positions[ti] + 1;
    for (std::int64_t h = 0; h < H; ++h) {
      const auto offset = [&](std::int64_t s) { return ((blocks[s / N] * N + s % N) * G + h / (H / G)) * K; };
      std::vector<double> p(static_cast<std::size_t>(L));
      double largest = -1e300, score_error = 0, sum = 0;
      for (std::int64_t s = 0; s < L; ++s) {
        double score = 0, size = 0;
        for (std::int64_t i = 0; i < K; ++i) {
          const double product = static_cast<double>(q.v[static_cast<std::size_t>((t * H + h) * K + i)]) *
                                 k.v[static_cast<std::size_t>(offset(s) + i)];
          score += product, size += std::fabs(product);
        }
        p[static_cast<std::size_t>(s)] = score * scale;
        largest = std::max(largest, score * scale);
        score_error =
            std::max(score_error, static_cast<double>(K + 2) * kU * size * scale + 2 * kU * std::fabs(score * scale));
      }
      for (double& e : p) sum += e = std::exp(e - largest);
      for (std::int64_t i = 0; i < K; ++i) {
        double size = 0;
        for (std::int64_t s = 0; s < L; ++s)
          size += p[static_cast<std::size_t>(s)] / sum *
                  std::fabs(static_cast<double>(v.v[static_cast<std::size_t>(offset(s) + i)]));
        tolerance.push_back(size * (2 * score_error + (2 * static_cast<double>(L) + 24) * kU) + 1e-30);
      }
    }
  }
  return {{"out", b.read(out), tolerance}, same_bits("rows alone", b.read(out), b.read(alone))};
}

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    list.push_back(
        {fmt::format("write_kv {}", dtype_label(dtype)), [=](Ops& ops) { return run_write(ops, dtype, mix64(seed)); }});
    const Heads heads[] = {{4, 2, 256}, {9, 3, 64}, {14, 2, 64}, {2, 2, 40}, {8, 1, 128}};
    const std::vector<CaseSequence> batches[] = {
        {{0, 1}}, {{0, 37}}, {{5, 4}, {0, 3}, {129, 1}}, {{200, 20}, {16, 1}, {15, 1}}};
    for (const Heads& h : heads)
      for (std::size_t i = 0; i < std::size(batches); ++i)
        for (const std::int64_t N : {16, 32}) {
          if (N == 32 && i != 2) continue;
          list.push_back(
              {fmt::format("attention {} H={} G={} K={} N={} batch={}", dtype_label(dtype), h.H, h.G, h.K, N, i),
               [=, sequences = batches[i]](Ops& ops) {
                 return run(ops, dtype, h, sequences, N, mix64(seed + i * 100 + static_cast<std::uint64_t>(h.H)));
               }});
        }
  }
}

}  // namespace

extern const OpCases cases_attention;
const OpCases cases_attention{"attention", add};

}  // namespace hearth
