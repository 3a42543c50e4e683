// The case list run by the reference: cases are well formed and deterministic, its rows and splits agree, and a backend with
// a mistake is found out.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>

#include "backend/ref/ref_ops.h"
#include "compute/checked_ops.h"
#include "compute/op_case.h"

namespace hearth {
namespace {

std::uint64_t fresh_seed() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) & 0xffffff;
}

TEST(RefOps, AgreesWithItselfOnEveryCase) {
  RefOps ref;
  CheckedOps checked(make_ref_ops());  // the cases keep to what ops.h promises
  const std::vector<OpCase> cases = all_op_cases(fresh_seed());
  EXPECT_GT(cases.size(), 300u);
  for (const OpCase& c : cases) EXPECT_EQ(compare_op(c, ref, checked), "");
}

struct SwapsHeadMaps : RefOps {
  void gated_delta_rule(Tensor y, Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, Tensor s, HeadMap m,
                        const Batch& b) override {
    RefOps::gated_delta_rule(y, q, k, v, g, beta, s, m == HeadMap::tiled ? HeadMap::grouped : HeadMap::tiled, b);
  }
};
struct SwapsRopeStyles : RefOps {
  void rope(Tensor x, Tensor p, Tensor f, RopeStyle s) override {
    RefOps::rope(x, p, f, s == RopeStyle::adjacent ? RopeStyle::half_split : RopeStyle::adjacent);
  }
};
struct ForgetsTheBias : RefOps {
  void linear(Tensor out, Tensor x, const Matrix& w, Tensor) override { RefOps::linear(out, x, w, {}); }
};
struct ForgetsEps : RefOps {
  void l2_norm(Tensor out, Tensor x, float, float scale) override { RefOps::l2_norm(out, x, 0, scale); }
};
struct NeverRenormalises : RefOps {
  void router_topk(Tensor w, Tensor i, Tensor l, bool) override { RefOps::router_topk(w, i, l, false); }
};
struct RowsSeeTheirNeighbours : RefOps {  // right to rounding, yet not the same bits alone and in company
  void linear(Tensor out, Tensor x, const Matrix& w, Tensor bias) override {
    RefOps::linear(out, x, w, bias);
    if (x.dim(0) > 1) out.ptr<float>()[0] = std::nextafter(out.ptr<float>()[0], 100.0f);
  }
};
struct KeepsOldStates : RefOps {  // does not start from zeros at position 0
  void causal_conv1d(Tensor out, Tensor u, Tensor w, Tensor s, const Batch& b) override {
    Batch later = b;
    std::vector<std::int32_t> positions(static_cast<std::size_t>(u.dim(0)), 1);
    later.positions = Tensor(positions.data(), DType::i32, {u.dim(0)});
    RefOps::causal_conv1d(out, u, w, s, later);
  }
};
struct WritesPastTheEnd : RefOps {
  void rms_norm(Tensor out, Tensor x, Tensor w, float eps) override {
    RefOps::rms_norm(out, x, w, eps);
    if (out.rank == 3 && out.stride[1] > out.dim(2)) out.ptr<float>()[out.dim(2)] = 0;
  }
};

template <class Mistaken>
void expect_found(std::string_view op) {
  RefOps ref;
  Mistaken other;
  std::vector<OpCase> cases;
  for (const OpCases* c : all_cases())
    if (c->op == op) c->add(cases, fresh_seed());
  std::size_t found = 0;
  for (const OpCase& c : cases) found += !compare_op(c, ref, other).empty();
  EXPECT_GT(found, 0u) << op;
}

TEST(OpCases, FindMistakes) {
  expect_found<SwapsHeadMaps>("gated_delta_rule");
  expect_found<SwapsRopeStyles>("rope");
  expect_found<ForgetsTheBias>("linear");
  expect_found<ForgetsEps>("l2_norm");
  expect_found<NeverRenormalises>("router_topk");
  expect_found<RowsSeeTheirNeighbours>("linear");
  expect_found<KeepsOldStates>("causal_conv1d");
  expect_found<WritesPastTheEnd>("rms_norm");
}

TEST(CheckedOpsDeathTest, SaysWhatIsWrong) {
  CheckedOps ops(make_ref_ops());
  std::vector<float> a(8), b(8), w(4);
  std::vector<std::int32_t> ids{0, 3};
  const Tensor x(a.data(), DType::f32, {2, 4}), out(b.data(), DType::f32, {2, 4}), weight(w.data(), DType::f32, {4});
  const Tensor rows(ids.data(), DType::i32, {2});
  EXPECT_DEATH(ops.rms_norm(out.view({4, 2}), x, weight, 1e-6f),
               "rms_norm: out is f32 \\[4, 2\\], expected f32 \\[2, 4\\]");
  EXPECT_DEATH(ops.gather_rows(out, x, rows), "gather_rows: rows\\[1\\] is 3, expected 0 … 1");
  EXPECT_DEATH(ops.add(x, x), "add: x and y overlap");
  EXPECT_DEATH(ops.silu_mul(out, x.slice(1, 0, 2), x.slice(1, 2, 4)), "silu_mul: out is");
}

}  // namespace
}  // namespace hearth
