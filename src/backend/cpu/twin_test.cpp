// Every case of compute/cases on every instruction set of this machine: against the reference, and bit for bit against
// itself with another number of threads.
#include <gtest/gtest.h>

#include <chrono>
#include <cstring>

#include "backend/cpu/cpu_ops.h"
#include "backend/ref/ref_ops.h"
#include "base/status.h"
#include "compute/op_case.h"

namespace hearth {
namespace {

std::uint64_t fresh_seed() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) & 0xffffff;
}

class CpuTwin : public testing::TestWithParam<std::string_view> {};

TEST_P(CpuTwin, AgreesWithTheReferenceOnEveryCase) {
  const auto ref = make_ref_ops();
  const auto cpu = make_cpu_ops({.threads = 3, .isa = std::string(GetParam())});
  for (const OpCase& c : all_op_cases(fresh_seed())) EXPECT_EQ(compare_op(c, *ref, *cpu), "");
}

TEST_P(CpuTwin, SameBitsForAnyNumberOfThreads) {
  const auto one = make_cpu_ops({.threads = 1, .isa = std::string(GetParam())});
  const auto four = make_cpu_ops({.threads = 4, .isa = std::string(GetParam())});
  for (const OpCase& c : all_op_cases(fresh_seed())) {
    const auto a = c.run(*one), b = c.run(*four);
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      ASSERT_EQ(a[i].values.size(), b[i].values.size());
      EXPECT_EQ(std::memcmp(a[i].values.data(), b[i].values.data(), a[i].values.size() * sizeof(float)), 0)
          << c.name << ": " << a[i].name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, CpuTwin, testing::ValuesIn(available_isas()),
                         [](const auto& isa) { return std::string(isa.param); });

TEST(CpuOps, UnknownInstructionSetIsRefused) {
  try {
    make_cpu_ops({.threads = 1, .isa = "mmx"});
    FAIL() << "accepted";
  } catch (const StartupError& e) {
    EXPECT_STREQ(e.what(), "instruction set 'mmx' is not offered on this machine");
    EXPECT_EQ(e.exit_code(), 2);
    EXPECT_NE(e.hint().find("portable"), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth
