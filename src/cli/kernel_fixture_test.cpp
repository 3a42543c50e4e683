// tests/golden/kernels on each backend: single operations against values that were computed in f64 and rounded once.
//
// Tolerance: sums of up to 384 f32 products of numbers near 1, so about 384 · 2⁻²⁴ of a few; 4e-6 absolute and relative
// keeps well above what an f32 backend needs and far below any mistake.
#include <gtest/gtest.h>

#include <cmath>

#include "checkpoint/safetensors.h"
#include "cli/testing/backends.h"
#include "compute/case_bench.h"
#include "quant/format.h"

namespace hearth {
namespace {

class KernelFixture : public testing::TestWithParam<TestBackend> {
 protected:
  KernelFixture() : ops(GetParam().make()), b(*ops, 1) {}

  static SafetensorsFile open(const std::string& name) {
    return SafetensorsFile(std::string(HEARTH_GOLDEN) + "/kernels/" + name + ".safetensors");
  }
  // A tensor of the file in the backend's memory. shape: its own, or another of the same size.
  Tensor place(const SafetensorsFile& file, const std::string& name, Shape shape) {
    return b.numbers(shape, file.read_f32(name)).t;
  }

  static void expect_near(const std::vector<float>& got, const std::vector<float>& expected, const char* what,
                          double tolerance = 4e-6) {
    ASSERT_EQ(got.size(), expected.size()) << what;
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], expected[i], tolerance * std::max(1.0, std::fabs(static_cast<double>(expected[i]))))
          << what << " " << i;
  }

  std::unique_ptr<Ops> ops;
  CaseBench b;
};

TEST_P(KernelFixture, Norms) {
  const SafetensorsFile f = open("norms");
  const auto plus_one = [&](const std::string& name, std::int64_t n) {  // the fixture's norms are (1 + w)
    std::vector<float> w = f.read_f32(name);
    for (float& x : w) x += 1;
    return b.numbers({n}, w).t;
  };
  const Tensor hidden = b.out({4, 256}), head = b.out({5, 2, 128}), gated = b.out({6, 4, 128}), l2 = b.out({3, 4, 128});
  ops->rms_norm(hidden, place(f, "rms_norm.hidden.x", {4, 256}), plus_one("rms_norm.hidden.w", 256), 1e-6f);
  expect_near(b.read(hidden), f.read_f32("rms_norm.hidden.expected"), "hidden");
  ops->rms_norm(head, place(f, "rms_norm.head.x", {5, 2, 128}), plus_one("rms_norm.head.w", 128), 1e-6f);
  expect_near(b.read(head), f.read_f32("rms_norm.head.expected"), "head");
  ops->gated_rms_norm(gated, place(f, "gated_rms_norm.x", {6, 4, 128}), place(f, "gated_rms_norm.z", {6, 4, 128}),
                      place(f, "gated_rms_norm.w", {128}), 1e-6f);
  expect_near(b.read(gated), f.read_f32("gated_rms_norm.expected"), "gated");
  ops->l2_norm(l2, place(f, "l2_norm.x", {3, 4, 128}), 1e-6f, 1.0f);
  expect_near(b.read(l2), f.read_f32("l2_norm.expected"), "l2");
}

TEST_P(KernelFixture, RopeOfTextPositions) {
  const SafetensorsFile f = open("rope_mrope");
  const std::vector<std::int64_t> all = f.read_i64("text.positions");  // [3, T]: t, h and w are the same for text
  const std::vector<std::int32_t> positions(all.begin(), all.begin() + 8);
  EXPECT_EQ(*std::max_element(positions.begin(), positions.end()), 262143);
  const Tensor x = place(f, "text.x", {8, 2, 256});
  ops->rope(x, b.ints({8}, positions), place(f, "inv_freq", {32}), RopeStyle::half_split);
  expect_near(b.read(x), f.read_f32("text.expected"), "rotated");
}

TEST_P(KernelFixture, CausalConv1d) {
  const SafetensorsFile f = open("causal_conv1d");
  const CaseBatch fresh = b.batch({{0, 13}}, 16), resumed = b.batch({{20, 13}}, 16);
  for (const auto& [name, c] : {std::pair{"fresh", &fresh}, {"resumed", &resumed}}) {
    std::vector<float> slots;  // the fixture's state in every slot: zeros must come from position 0
    for (std::int64_t s = 0; s < c->num_slots; ++s) {
      const std::vector<float> one = f.read_f32("state_in");
      slots.insert(slots.end(), one.begin(), one.end());
    }
    const Tensor state = b.numbers({c->num_slots, 3, 40}, slots).t, out = b.out({13, 40});
    ops->causal_conv1d(out, place(f, "u", {13, 40}), place(f, "w", {40, 4}), state, c->batch);
    expect_near(b.read(out), f.read_f32(std::string(name) + ".expected"), name);
    expect_near(b.read(state.select(0, c->state_slots[0])), f.read_f32(std::string(name) + ".state_out"), name, 0);
  }
}

TEST_P(KernelFixture, GatedDeltaRule) {
  const SafetensorsFile f = open("gated_delta_rule");
  const std::int64_t T = 66, Hv = 2, D = 128;
  const Tensor g = b.out({T, Hv}), beta = b.out({T, Hv});
  ops->gdn_gates(g, beta, place(f, "a", {T, Hv}), place(f, "b", {T, Hv}), place(f, "A_log", {Hv}),
                 place(f, "dt_bias", {Hv}));
  expect_near(b.read(g), f.read_f32("g"), "g");
  expect_near(b.read(beta), f.read_f32("beta"), "beta");
  const Tensor q = place(f, "q", {T, 1, D}), k = place(f, "k", {T, 1, D}), v = place(f, "v", {T, Hv, D});
  ops->l2_norm(q, q, 1e-6f, 0.08838834764831845f);
  ops->l2_norm(k, k, 1e-6f, 1.0f);
  const CaseBatch first = b.batch({{0, T}}, 16);
  CaseBatch next = b.batch({{T, 5}}, 16);
  next.batch.state_slots = first.batch.state_slots;
  const Tensor state = b.normal({first.num_slots, Hv, D, D}).t;
  const Tensor y = b.out({T, Hv, D}), y5 = b.out({5, Hv, D});
  ops->gated_delta_rule(y, q, k, v, g, beta, state, HeadMap::grouped, first.batch);
  expect_near(b.read(y), f.read_f32("expected"), "y");
  const Tensor slot = state.select(0, first.state_slots[0]);
  expect_near(b.read(slot), f.read_f32("state"), "state");
  const auto five = [](const Tensor& t) { return t.slice(0, 0, 5); };  // tokens 0 – 4 again, from that state
  ops->gated_delta_rule(y5, five(q), five(k), five(v), five(g), five(beta), state, HeadMap::grouped, next.batch);
  expect_near(b.read(y5), f.read_f32("expected_next_5"), "next 5");
  const std::vector<float> after = b.read(slot), sums = f.read_f32("state_sum_next_5");
  for (std::size_t h = 0; h < 2; ++h) {
    double sum = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(D * D); ++i)
      sum += static_cast<double>(after[h * static_cast<std::size_t>(D * D) + i]);
    EXPECT_NEAR(sum, static_cast<double>(sums[h]), 1e-3);  // 16,384 numbers
  }
}

TEST_P(KernelFixture, GatedAttention) {
  const SafetensorsFile f = open("gated_attention");
  const CaseBatch c = b.batch({{5, 4}}, 4);
  const Tensor cache_k = b.out({c.num_blocks, 4, 2, 256}), cache_v = b.out({c.num_blocks, 4, 2, 256});
  std::vector<std::int32_t> slots;
  for (std::int32_t p = 0; p < 9; ++p) slots.push_back(c.block_tables[static_cast<std::size_t>(p / 4)] * 4 + p % 4);
  Batch all = c.batch;
  all.slot_mapping = b.ints({9}, slots);
  const Tensor out = b.out({4, 4, 256});
  ops->write_kv({cache_k, cache_v}, place(f, "k", {9, 2, 256}), place(f, "v", {9, 2, 256}), all);
  ops->attention(out, place(f, "q", {4, 4, 256}), {cache_k, cache_v}, c.batch, 0.0625f);
  ops->sigmoid_mul(out, out, place(f, "gate", {4, 4, 256}));
  expect_near(b.read(out), f.read_f32("expected"), "gated attention");
}

TEST_P(KernelFixture, RouterTopk) {
  const SafetensorsFile f = open("router_topk");
  const auto check = [&](const std::string& name, std::int64_t T, std::int64_t E, std::int64_t A) {
    const Tensor weights = b.out({T, A}), ids = b.out_ints({T, A});
    ops->router_topk(weights, ids, place(f, name + ".logits", {T, E}), true);
    const std::vector<std::int64_t> expected = f.read_i64(name + ".indices");
    EXPECT_EQ(b.read(ids), std::vector<float>(expected.begin(), expected.end())) << name;
    expect_near(b.read(weights), f.read_f32(name + ".weights"), name.c_str());
  };
  check("tiny", 12, 8, 2);
  check("real", 6, 256, 8);
  check("tie", 1, 8, 2);
}

TEST_P(KernelFixture, Swiglu) {
  const SafetensorsFile f = open("swiglu");
  const Tensor out = b.out({5, 128});
  ops->silu_mul(out, place(f, "gate", {5, 128}), place(f, "up", {5, 128}));
  expect_near(b.read(out), f.read_f32("expected"), "swiglu");
}

TEST_P(KernelFixture, Fp8Linear) {
  const SafetensorsFile f = open("fp8_linear");
  for (const auto& [name, N, K] : {std::tuple{std::string("160x256"), 160, 256}, {std::string("96x300"), 96, 300}}) {
    const std::vector<std::byte> q = f.read_bytes(name + ".q");
    const std::vector<float> scales = f.read_f32(name + ".scale");
    const StoredMatrix stored{Format::f8_e4m3, N, K, q.data(), scales.data()};
    const Matrix w = ops->load_matrix({&stored, 1});
    const Arithmetic arithmetic = ops->arithmetic(w);
    ASSERT_TRUE(arithmetic == Arithmetic::f32 || arithmetic == Arithmetic::fp8_128);
    const Tensor out = b.out({5, N});
    ops->linear(out, place(f, name + ".x", {5, K}), w);
    expect_near(b.read(out), f.read_f32(name + (arithmetic == Arithmetic::f32 ? ".y_w8a16" : ".y_w8a8")), name.c_str());
  }
}

const TestBackend kFp8Activations = {"ref_w8a8", [] { return make_ref_ops({.fp8_activations = true}); }};

INSTANTIATE_TEST_SUITE_P(W8A8, KernelFixture, testing::Values(kFp8Activations),
                         [](const auto& i) { return std::string(i.param.name); });
INSTANTIATE_TEST_SUITE_P(All, KernelFixture, testing::ValuesIn(kTestBackends),
                         [](const auto& i) { return std::string(i.param.name); });

}  // namespace
}  // namespace hearth
