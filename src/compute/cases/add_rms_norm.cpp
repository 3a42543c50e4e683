#include <fmt/format.h>

#include "compute/case_bench.h"

namespace hearth {
namespace {

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  const std::int64_t shapes[][2] = {{1, 64}, {5, 576}, {3, 37}, {9, 896}};
  for (const auto& [T, D] : shapes)
    list.push_back({fmt::format("add_rms_norm [{}, {}]", T, D), [=, T = T, D = D](Ops& ops) {
                      CaseBench b(ops, mix64(seed ^ static_cast<std::uint64_t>(T * 1000 + D)));
                      const Input r = b.normal({T, D}), m = b.normal({T, D}), w = b.normal({D});
                      const Tensor out = b.out({T, D});
                      ops.add_rms_norm(out, r.t, m.t, w.t, 1e-5f);
                      const std::vector<float> sum = b.read(r.t), o = b.read(out);
                      return std::vector<CaseOutput>{{"r", sum, exactly(sum.size())},  // one f32 addition
                                                     {"out", o, relative(o, static_cast<double>(D) / 2 + 8)}};
                    }});
}

}  // namespace

extern const OpCases cases_add_rms_norm;
const OpCases cases_add_rms_norm{"add_rms_norm", add};

}  // namespace hearth
