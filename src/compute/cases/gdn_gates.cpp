#include <fmt/format.h>

#include <cmath>

#include "compute/case_bench.h"

namespace hearth {
namespace {

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  for (const std::int64_t T : {1, 9})
    for (const std::int64_t Hv : {2, 32, 33})
      list.push_back({fmt::format("gdn_gates [{}, {}]", T, Hv), [=](Ops& ops) {
                        CaseBench b(ops, mix64(seed + static_cast<std::uint64_t>(T * 100 + Hv)));
                        const Input a = b.uniform({T, Hv}, -30, 30), beta_in = b.uniform({T, Hv}, -30, 30);
                        const Input a_log = b.uniform({Hv}, -4, 3), dt_bias = b.normal({Hv});
                        const Tensor g = b.out({T, Hv}), beta = b.out({T, Hv});
                        ops.gdn_gates(g, beta, a.t, beta_in.t, a_log.t, dt_bias.t);
                        // The sum a + dt_bias is rounded (u |x|); softplus has slope sigmoid; exp, log1p and products are right to a few u.
                        std::vector<double> tolerance;
                        for (std::size_t i = 0; i < a.v.size(); ++i) {
                          const std::size_t h = i % static_cast<std::size_t>(Hv);
                          const double x = static_cast<double>(a.v[i]) + dt_bias.v[h],
                                       rate = std::exp(static_cast<double>(a_log.v[h]));
                          const double slope = 1 / (1 + std::exp(-x)), softplus = std::log1p(std::exp(x));
                          tolerance.push_back(kU * rate * (4 * std::fabs(x) * slope + 16 * softplus) + 1e-37);
                        }
                        const std::vector<float> out = b.read(beta);
                        return std::vector<CaseOutput>{{"g", b.read(g), tolerance}, {"beta", out, relative(out, 16)}};
                      }});
}

}  // namespace

extern const OpCases cases_gdn_gates;
const OpCases cases_gdn_gates{"gdn_gates", add};

}  // namespace hearth
