// Sizes beyond compute/cases: contexts of several spans, more rows than one item takes, more pairs than one group of experts.
// Whatever the cut, a row's numbers are the same bits.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "backend/cpu/cpu_ops.h"
#include "backend/ref/ref_ops.h"
#include "compute/case_bench.h"

namespace hearth {
namespace {

std::vector<float> row_of(const std::vector<float>& v, std::int64_t row, std::int64_t width) {
  return {v.begin() + row * width, v.begin() + (row + 1) * width};
}

// Rows [t0, t1) of a batch with one sequence, as a step of their own.
Batch rows_of(CaseBench& b, const Batch& batch, std::int64_t t0, std::int64_t t1) {
  Batch one = batch;
  one.positions = batch.positions.slice(0, t0, t1);
  one.slot_mapping = batch.slot_mapping.slice(0, t0, t1);
  one.seq_of_row = batch.seq_of_row.slice(0, t0, t1);
  one.cu_seqlens_q = b.ints({2}, {0, static_cast<std::int32_t>(t1 - t0)});
  one.seq_lens = b.ints({1}, {batch.positions.ptr<std::int32_t>()[t1 - 1] + 1});
  return one;
}

TEST(LongContext, SpansOfAttentionAreJoinedTheSameWay) {
  constexpr std::int64_t T = 1300, H = 4, G = 2, K = 64;
  constexpr float kScale = 0.125f;
  const auto cpu = make_cpu_ops({.threads = 4});
  const auto run = [&](Ops& ops, bool cut) {
    CaseBench b(ops, 7);
    const CaseBatch c = b.batch({{0, T}}, 16);
    const Input k = b.cache(DType::bf16, {c.num_blocks, 16, G, K}), v = b.cache(DType::bf16, {c.num_blocks, 16, G, K});
    const Input q = b.normal({T, H, K}, 2.0);
    const Tensor out = b.out({T, H, K});
    if (!cut) {
      ops.attention(out, q.t, {k.t, v.t}, c.batch, kScale);
      return b.read(out);
    }
    // Chunks, with single rows on both sides of the spans' borders.
    std::vector<std::int64_t> cuts = {0, 511, 512, 513, 700, 1023, 1024, 1025, 1299, 1300};
    for (std::size_t i = 0; i + 1 < cuts.size(); ++i)
      ops.attention(out.slice(0, cuts[i], cuts[i + 1]), q.t.slice(0, cuts[i], cuts[i + 1]), {k.t, v.t},
                    rows_of(b, c.batch, cuts[i], cuts[i + 1]), kScale);
    return b.read(out);
  };
  const auto whole = run(*cpu, false), cut = run(*cpu, true), expected = run(*make_ref_ops(), false);
  for (std::int64_t t = 0; t < T; ++t) EXPECT_EQ(row_of(whole, t, H * K), row_of(cut, t, H * K)) << "row " << t;
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(whole[i], expected[i], 2e-5) << i;
}

TEST(ManyRows, OfALinearAreTheSameAlone) {
  const auto cpu = make_cpu_ops({.threads = 3});
  for (const Format format : {Format::bf16, Format::f8_e4m3, Format::q8_0, Format::q4_1, Format::q4_k, Format::q6_k}) {
    constexpr std::int64_t T = 301, N = 200, K = 512;
    CaseBench b(*cpu, 11);
    const CaseMatrix w = b.matrix(format, {N}, K);
    const Input x = b.normal({T, K});
    const Tensor out = b.out({T, N}), alone = b.out({1, N});
    cpu->linear(out, x.t, w.m);
    const auto all = b.read(out);
    for (const std::int64_t t : {0, 1, 127, 128, 255, 256, 299, 300}) {
      cpu->linear(alone, x.t.slice(0, t, t + 1), w.m);
      EXPECT_EQ(row_of(all, t, N), b.read(alone)) << format_info(format).name << " row " << t;
    }
  }
}

TEST(ManyRows, OfExpertsAreTheSameAlone) {
  const auto cpu = make_cpu_ops({.threads = 3});
  constexpr std::int64_t T = 1100, D = 64, F = 32, E = 6, A = 4;  // 4400 pairs: two groups
  CaseBench b(*cpu, 13);
  Experts experts;
  std::vector<CaseMatrix> keep;
  for (std::int64_t e = 0; e < E; ++e) {
    experts.gate_proj.push_back(b.matrix(Format::q8_0, {F}, D).m);
    experts.up_proj.push_back(b.matrix(Format::q8_0, {F}, D).m);
    experts.down_proj.push_back(b.matrix(Format::q8_0, {D}, F).m);
  }
  const Input x = b.normal({T, D}), logits = b.normal({T, E});
  const Tensor weights = b.out({T, A}), ids = b.out_ints({T, A}), out = b.out({T, D}), alone = b.out({1, D});
  cpu->router_topk(weights, ids, logits.t, true);
  cpu->moe(out, x.t, weights, ids, experts);
  const auto all = b.read(out);
  for (const std::int64_t t : {0, 1, 1022, 1023, 1024, 1025, 1099}) {
    cpu->moe(alone, x.t.slice(0, t, t + 1), weights.slice(0, t, t + 1), ids.slice(0, t, t + 1), experts);
    EXPECT_EQ(row_of(all, t, D), b.read(alone)) << "row " << t;
  }
}

TEST(Poison, ANanStaysInItsRow) {
  const auto cpu = make_cpu_ops({.threads = 2});
  for (const Format format : {Format::bf16, Format::f8_e4m3, Format::q8_0, Format::q4_1, Format::q6_k})
    for (const float bad : {std::nanf(""), INFINITY}) {
      constexpr std::int64_t T = 9, N = 40, K = 256;
      CaseBench b(*cpu, 17);
      const CaseMatrix w = b.matrix(format, {N}, K);
      const Input x = b.normal({T, K});
      x.t.row<float>(4)[77] = bad;
      const Tensor out = b.out({T, N});
      cpu->linear(out, x.t, w.m);
      const auto y = b.read(out);
      for (std::int64_t t = 0; t < T; ++t)
        for (float v : row_of(y, t, N)) EXPECT_EQ(std::isfinite(v), t != 4) << format_info(format).name << " row " << t;
    }
}

// Steps of the size that was told run in what reserve() took; a much larger one is found out.
TEST(Workspace, ReserveTakesWhatTheLargestStepNeeds) {
  const auto cpu = make_cpu_ops({.threads = 2});
  CaseBench b(*cpu, 19);
  constexpr std::int64_t T = 64, D = 576, F = 96, E = 5, A = 3;
  const CaseMatrix w = b.matrix(Format::q4_1, {32}, D);
  Experts experts;
  for (std::int64_t e = 0; e < E; ++e) {
    experts.gate_proj.push_back(b.matrix(Format::q8_0, {F}, D).m);
    experts.up_proj.push_back(b.matrix(Format::q8_0, {F}, D).m);
    experts.down_proj.push_back(b.matrix(Format::q4_0, {D}, F).m);
  }
  StepShape largest;
  largest.tokens = T;
  largest.sequences = 1;
  largest.context = T;
  largest.linear_cols = D;
  largest.linear_outs = 2;
  largest.half_rotary = 8;
  largest.experts = E;
  largest.active_experts = A;
  largest.moe_hidden = D;
  largest.expert_width = F;
  const std::size_t planned = cpu->workspace_bytes(largest);
  cpu->reserve(largest);
  const std::size_t reserved = cpu->device().used_bytes()["workspace"];
  EXPECT_GE(reserved, planned);
  EXPECT_LE(reserved, planned + 2 * 4096);  // whole pages

  const Input x = b.normal({T, D}), weights = b.uniform({T, A}, 0, 1);
  std::vector<std::int32_t> ids, positions;
  for (std::int32_t t = 0; t < T; ++t) {
    for (std::int32_t a = 0; a < A; ++a) ids.push_back((t + a) % E);
    positions.push_back(t);
  }
  const Tensor id_tensor = b.ints({T, A}, ids), position_tensor = b.ints({T}, positions);
  const Tensor outs[] = {b.out({T, 32}), b.out({T, 32})}, out = b.out({T, D});
  const Matrix* ws[] = {&w.m, &w.m};
  cpu->linear_many(outs, x.t, ws, {});
  cpu->moe(out, x.t, weights.t, id_tensor, experts);
  cpu->rope(x.t.heads(9), position_tensor, b.normal({8}).t, RopeStyle::half_split);
  EXPECT_EQ(cpu->device().used_bytes()["workspace"], reserved);
  const Input many = b.normal({20 * T, D});  // more than what the experts leave room for
  EXPECT_DEATH(cpu->linear(b.out({20 * T, 32}), many.t, w.m), "bytes <= buffer_.bytes");
}

}  // namespace
}  // namespace hearth
