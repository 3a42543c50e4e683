// The case list run by the reference against itself: cases are well formed, deterministic, and its rows and splits agree.
#include <gtest/gtest.h>

#include <chrono>

#include "backend/ref/ref_ops.h"
#include "compute/op_case.h"

namespace hearth {
namespace {

TEST(RefOps, AgreesWithItselfOnEveryCase) {
  const auto seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) & 0xffffff;
  const auto ref = make_ref_ops(), again = make_ref_ops();
  const std::vector<OpCase> cases = all_op_cases(seed);
  EXPECT_GT(cases.size(), 300u);
  for (const OpCase& c : cases) EXPECT_EQ(compare_op(c, *ref, *again), "");
}

}  // namespace
}  // namespace hearth
