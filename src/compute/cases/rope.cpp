#include <fmt/format.h>

#include <cmath>

#include "compute/case_bench.h"

namespace hearth {
namespace {

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  const std::int64_t shapes[][5] = {
      {5, 2, 256, 64, 0}, {3, 4, 64, 64, 0}, {7, 3, 128, 128, 0}, {4, 2, 256, 64, 256}, {2, 1, 20, 12, 4}};
  for (const auto& [T, H, K, R, gap] : shapes)
    for (const RopeStyle style : {RopeStyle::half_split, RopeStyle::adjacent})
      list.push_back({fmt::format("rope [{}, {}, {}] R={} gap={} {}", T, H, K, R, gap,
                                  style == RopeStyle::adjacent ? "adjacent" : "half_split"),
                      [=, T = T, H = H, K = K, R = R, gap = gap](Ops& ops) {
                        CaseBench b(ops, mix64(seed ^ static_cast<std::uint64_t>(T * 1000 + K)));
                        const Input x = b.normal({T, H, K}, 1.0, gap);
                        std::vector<std::int32_t> positions;
                        for (std::int64_t t = 0; t < T;
                             ++t)  // small ones, and up to 262143: the angle is rounded to f32, then reduced exactly
                          positions.push_back(t == 0 ? 262143
                                                     : static_cast<std::int32_t>(b.rng.below(t % 2 ? 262144 : 64)));
                        std::vector<float> inv_freq;
                        for (std::int64_t i = 0; i < R / 2; ++i)
                          inv_freq.push_back(std::pow(1e7f, -2.0f * static_cast<float>(i) / static_cast<float>(R)));
                        ops.rope(x.t, b.ints({T}, positions), b.numbers({R / 2}, inv_freq).t, style);
                        // cos and sin right to an ulp or two, two products and a sum: 6 u of |a| + |b|, which is at most 2 · largest.
                        double largest = 0;
                        for (const float v : x.v) largest = std::max(largest, std::fabs(static_cast<double>(v)));
                        std::vector<double> tolerance;
                        for (std::int64_t i = 0; i < T * H * K; ++i)
                          tolerance.push_back(i % K < R ? 12 * kU * largest : 0.0);
                        return std::vector<CaseOutput>{{"x", b.read(x.t), tolerance}, b.untouched()};
                      }});
}

}  // namespace

extern const OpCases cases_rope;
const OpCases cases_rope{"rope", add};

}  // namespace hearth
