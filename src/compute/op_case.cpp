#include "compute/op_case.h"

#include <fmt/format.h>

#include <cmath>

namespace hearth {

std::vector<OpCase> all_op_cases(std::uint64_t seed) {
  std::vector<OpCase> list;
  for (const OpCases* cases : all_cases()) cases->add(list, seed);
  for (OpCase& c : list) c.name += fmt::format(" seed={:#x}", seed);
  return list;
}

std::string compare_op(const OpCase& op_case, Ops& reference, Ops& other) {
  const std::vector<CaseOutput> expected = op_case.run(reference);
  const std::vector<CaseOutput> got = op_case.run(other);
  HEARTH_CHECK_EQ(expected.size(), got.size());
  for (std::size_t o = 0; o < got.size(); ++o) {
    HEARTH_CHECK_EQ(expected[o].values.size(), got[o].values.size());
    HEARTH_CHECK_EQ(got[o].values.size(), got[o].tolerance.size());
    for (std::size_t i = 0; i < got[o].values.size(); ++i) {
      const double e = static_cast<double>(expected[o].values[i]), g = static_cast<double>(got[o].values[i]);
      if (std::fabs(e - g) <= got[o].tolerance[i] || e == g) continue;  // a NaN fails both
      return fmt::format("{}: {}[{}]: {} gives {:.9g}, {} gives {:.9g}, tolerance {:.3g}", op_case.name, got[o].name, i,
                         reference.name(), e, other.name(), g, got[o].tolerance[i]);
    }
  }
  return {};
}

}  // namespace hearth
