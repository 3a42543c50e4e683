#include <fmt/format.h>

#include "compute/case_bench.h"

namespace hearth {
namespace {

// Σx² of n positive numbers is right to n·u relative, its root to half of that; then three products.
double factor(std::int64_t n) { return static_cast<double>(n) / 2 + 8; }

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  const std::int64_t shapes[][4] = {{1, 1, 64, 0}, {5, 1, 576, 0}, {3, 4, 256, 256}, {2, 3, 37, 5}, {7, 2, 128, 3}};
  for (const auto& [T, H, n, gap] : shapes)
    for (const bool in_place : {false, true})
      list.push_back({fmt::format("rms_norm [{}, {}, {}] gap={} in_place={}", T, H, n, gap, in_place),
                      [=, T = T, H = H, n = n, gap = gap](Ops& ops) {
                        CaseBench b(ops, mix64(seed ^ static_cast<std::uint64_t>(T * 1000 + n)));
                        const Input x = b.normal({T, H, n}, 3.0, gap), w = b.normal({n});
                        const Tensor out = in_place ? x.t : b.out({T, H, n});
                        ops.rms_norm(out, x.t, w.t, 1e-6f);
                        const std::vector<float> o = b.read(out);
                        return std::vector<CaseOutput>{{"out", o, relative(o, factor(n))}, b.untouched()};
                      }});
  list.push_back({"rms_norm of zeros", [=](Ops& ops) {
                    CaseBench b(ops, seed);
                    const Input x = b.numbers({1, 64}, std::vector<float>(64, 0.0f)), w = b.normal({64});
                    const Tensor out = b.out({1, 64});
                    ops.rms_norm(out, x.t, w.t, 1e-6f);
                    return std::vector<CaseOutput>{{"out", b.read(out), exactly(64)}};
                  }});
}

}  // namespace

extern const OpCases cases_rms_norm;
const OpCases cases_rms_norm{"rms_norm", add};

}  // namespace hearth
