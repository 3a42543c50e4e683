#include "cli/engine_bench.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(EngineBench, Spread) {
  EXPECT_EQ(spread_of({3, 1, 2}).median, 2);
  EXPECT_EQ(spread_of({4, 1, 2, 3}).median, 2.5);
  EXPECT_EQ(spread_of({4, 1, 2, 3}).min, 1);
  EXPECT_EQ(spread_of({4, 1, 2, 3}).max, 4);
}

}  // namespace
}  // namespace hearth
