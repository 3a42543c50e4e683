// add, silu_mul, sigmoid_mul, add_sigmoid_scaled, gather_rows.
//
// exp is taken to be right to a few u relative, so sigmoid and silu are right to about 16 u of their own size; where e^-x
// leaves the range of f32 (below 2^-126, some 1e-38) nothing more is asked than a number that small.
#include <fmt/format.h>

#include <cmath>

#include "compute/case_bench.h"

namespace hearth {
namespace {

constexpr double kTiny = 1e-34;

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  const std::int64_t shapes[][2] = {{1, 64}, {5, 576}, {3, 37}};
  for (const auto& [T, D] : shapes) {
    const std::uint64_t s = mix64(seed ^ static_cast<std::uint64_t>(T * 1000 + D));
    const auto n = static_cast<std::size_t>(T * D);
    list.push_back({fmt::format("add [{}, {}]", T, D), [=, T = T, D = D](Ops& ops) {
                      CaseBench b(ops, s);
                      const Input x = b.normal({T, D}), y = b.normal({T, D});
                      ops.add(x.t, y.t);
                      return std::vector<CaseOutput>{{"x", b.read(x.t), exactly(n)}};
                    }});
    for (const int place : {0, 1, 2})
      list.push_back({fmt::format("silu_mul [{}, {}] in_place={}", T, D, place), [=, T = T, D = D](Ops& ops) {
                        CaseBench b(ops, s);
                        const Input gate = b.uniform({T, D}, -110, 110), up = b.normal({T, D});
                        const Tensor out = place == 0 ? b.out({T, D}) : place == 1 ? gate.t : up.t;
                        ops.silu_mul(out, gate.t, up.t);
                        const std::vector<float> o = b.read(out);
                        return std::vector<CaseOutput>{{"out", o, relative(o, 24, kTiny)}};
                      }});
    for (const bool in_place : {false, true})
      list.push_back({fmt::format("sigmoid_mul [{}, 2, {}] in_place={}", T, D, in_place), [=, T = T, D = D](Ops& ops) {
                        CaseBench b(ops, s);
                        const Input x = b.normal({T, 2, D}),
                                    gate = b.uniform({T, 2, D}, -110, 110, D);  // gate: half of [q | gate]
                        const Tensor out = in_place ? x.t : b.out({T, 2, D});
                        ops.sigmoid_mul(out, x.t, gate.t);
                        const std::vector<float> o = b.read(out);
                        return std::vector<CaseOutput>{{"out", o, relative(o, 24, kTiny)}, b.untouched()};
                      }});
    list.push_back({fmt::format("add_sigmoid_scaled [{}, {}]", T, D), [=, T = T, D = D](Ops& ops) {
                      CaseBench b(ops, s);
                      const Input x = b.normal({T, D}), y = b.normal({T, D}), gate = b.uniform({T, 1}, -20, 20);
                      ops.add_sigmoid_scaled(x.t, y.t, gate.t);
                      std::vector<double> tolerance;
                      for (std::size_t i = 0; i < n; ++i)
                        tolerance.push_back(
                            24 * kU *
                            (std::fabs(static_cast<double>(x.v[i])) + std::fabs(static_cast<double>(y.v[i]))));
                      return std::vector<CaseOutput>{{"x", b.read(x.t), tolerance}};
                    }});
    list.push_back({fmt::format("gather_rows [4 of {}, {}]", T, D), [=, T = T, D = D](Ops& ops) {
                      CaseBench b(ops, s);
                      const Input x = b.normal({T, D});
                      const auto last = static_cast<std::int32_t>(T - 1);
                      const Tensor out = b.out({4, D}), rows = b.ints({4}, {last, 0, last / 2, last});
                      ops.gather_rows(out, x.t, rows);
                      return std::vector<CaseOutput>{{"out", b.read(out), exactly(static_cast<std::size_t>(4 * D))}};
                    }});
  }
}

}  // namespace

extern const OpCases cases_elementwise;
const OpCases cases_elementwise{"elementwise", add};

}  // namespace hearth
