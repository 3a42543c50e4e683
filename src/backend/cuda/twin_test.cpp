// Every case of compute/cases on the GPU against the reference; skipped where there is none.
#include <gtest/gtest.h>

#include <chrono>

#include "backend/cuda/cuda_ops.h"
#include "backend/ref/ref_ops.h"
#include "base/status.h"
#include "compute/op_case.h"

namespace hearth {
namespace {

TEST(CudaTwin, AgreesWithTheReferenceOnEveryCase) {
  if (const std::string why = cuda_unavailable(); !why.empty()) GTEST_SKIP() << why;
  const auto seed = static_cast<std::uint64_t>(std::chrono::system_clock::now().time_since_epoch().count()) & 0xffffff;
  const auto ref = make_ref_ops();
  const auto cuda = make_cuda_ops({});
  for (const OpCase& c : all_op_cases(seed)) EXPECT_EQ(compare_op(c, *ref, *cuda), "");
}

TEST(CudaOps, WithoutGpuIsRefusedWithTheReason) {
  const std::string why = cuda_unavailable();
  if (why.empty()) GTEST_SKIP() << "there is a GPU";
  try {
    make_cuda_ops({});
    FAIL() << "accepted";
  } catch (const StartupError& e) {
    EXPECT_EQ(std::string(e.what()), "no usable GPU: " + why);
    EXPECT_NE(e.hint().find("--device cpu"), std::string::npos);
  }
}

}  // namespace
}  // namespace hearth
