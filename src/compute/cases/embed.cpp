#include <fmt/format.h>

#include "compute/case_bench.h"

namespace hearth {
namespace {

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  for (int f = 0; f < kNumFormats; ++f) {
    const FormatInfo& info = format_info(static_cast<Format>(f));
    if (!info.is_float_weight || info.format == Format::f64 || info.format == Format::f8_e5m2) continue;
    const std::int64_t T = 5, D = info.block_elems == 1 ? 136 : 512, V = 40;
    list.push_back({fmt::format("embed {} T={} V={} D={}", info.name, T, V, D), [=](Ops& ops) {
                      CaseBench b(ops, mix64(seed + static_cast<std::uint64_t>(f)));
                      const CaseMatrix table = b.matrix(info.format, {V}, D);
                      const std::vector<std::int32_t> ids{7, 0, 39, 7, 12};
                      const Tensor out = b.out({T, D});
                      ops.embed(out, b.ints({T}, ids), table.m);
                      // Widening is exact, or a few roundings of scale · q − minimum: against the row's largest number.
                      std::vector<double> tolerance;
                      for (const std::int32_t id : ids) {
                        double largest = 0;
                        for (std::int64_t i = 0; i < D; ++i)
                          largest = std::max(largest, std::fabs(static_cast<double>(table.row(id)[i])));
                        tolerance.insert(tolerance.end(), static_cast<std::size_t>(D),
                                         info.block_elems == 1 ? 0.0 : 8 * kU * largest);
                      }
                      return std::vector<CaseOutput>{{"out", b.read(out), tolerance}};
                    }});
  }
}

}  // namespace

extern const OpCases cases_embed;
const OpCases cases_embed{"embed", add};

}  // namespace hearth
