#include <fmt/format.h>

#include "compute/case_bench.h"

namespace hearth {
namespace {

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  const std::int64_t shapes[][4] = {{5, 2, 128, 0}, {3, 16, 128, 64}, {2, 3, 37, 5}};
  for (const auto& [T, H, n, gap] : shapes)
    for (const bool in_place : {false, true})
      list.push_back(
          {fmt::format("l2_norm [{}, {}, {}] gap={} in_place={}", T, H, n, gap, in_place),
           [=, T = T, H = H, n = n, gap = gap](Ops& ops) {
             CaseBench b(ops, mix64(seed ^ static_cast<std::uint64_t>(T * 1000 + n)));
             const Input x = b.normal({T, H, n}, 0.01, gap);  // small, so that eps counts
             const Tensor out = in_place ? x.t : b.out({T, H, n});
             ops.l2_norm(out, x.t, 1e-6f, 0.088388346f);
             const std::vector<float> o = b.read(out);
             return std::vector<CaseOutput>{{"out", o, relative(o, static_cast<double>(n) / 2 + 8)}, b.untouched()};
           }});
}

}  // namespace

extern const OpCases cases_l2_norm;
const OpCases cases_l2_norm{"l2_norm", add};

}  // namespace hearth
