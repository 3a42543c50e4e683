#include <fmt/format.h>

#include "compute/case_bench.h"

namespace hearth {
namespace {

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  const std::int64_t shapes[][3] = {{5, 4, 128}, {1, 2, 128}, {2, 3, 37}};
  for (const auto& [T, H, n] : shapes)
    for (const bool in_place : {false, true})
      list.push_back({fmt::format("gated_rms_norm [{}, {}, {}] in_place={}", T, H, n, in_place),
                      [=, T = T, H = H, n = n](Ops& ops) {
                        CaseBench b(ops, mix64(seed ^ static_cast<std::uint64_t>(T * 1000 + n)));
                        const Input x = b.normal({T, H, n}), z = b.uniform({T, H, n}, -110, 110), w = b.normal({n});
                        const Tensor out = in_place ? x.t : b.out({T, H, n});
                        ops.gated_rms_norm(out, x.t, z.t, w.t, 1e-6f);
                        const std::vector<float> o = b.read(out);  // the norm's n / 2 + 8, and silu's 16
                        return std::vector<CaseOutput>{{"out", o, relative(o, static_cast<double>(n) / 2 + 24, 1e-34)}};
                      }});
}

}  // namespace

extern const OpCases cases_gated_rms_norm;
const OpCases cases_gated_rms_norm{"gated_rms_norm", add};

}  // namespace hearth
