#include "tensor/tensor.h"

#include <gtest/gtest.h>

#include <vector>

namespace hearth {
namespace {

TEST(Tensor, HeadsOfAColumnRange) {
  std::vector<float> m(2 * 10);
  for (std::size_t i = 0; i < m.size(); ++i) m[i] = static_cast<float>(i);
  const Tensor t(m.data(), DType::f32, {2, 10});
  const Tensor h = t.slice(1, 4, 10).heads(3);  // columns 4…9 as three heads of two
  EXPECT_EQ(h.describe(), "f32 [2, 3, 2]");
  EXPECT_EQ(*h.row<float>(0, 0), 4.0f);
  EXPECT_EQ(h.row<float>(1, 2)[1], 19.0f);
  EXPECT_FALSE(h.contiguous());
}

TEST(Tensor, ViewsOfNothingStayNothing) {  // planning: shapes without memory
  const Tensor t(nullptr, DType::f32, {4, 8, 16});
  EXPECT_EQ(t.slice(0, 1, 3).data, nullptr);
  EXPECT_EQ(t.select(1, 5).describe(), "f32 [4, 16]");
}

}  // namespace
}  // namespace hearth
