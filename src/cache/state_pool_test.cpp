#include "cache/state_pool.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(StatePool, HandsOutEachSlotOnce) {
  StatePool pool(2);
  EXPECT_EQ(pool.allocate(), 0);
  EXPECT_EQ(pool.allocate(), 1);
  EXPECT_EQ(pool.allocate(), -1);
  pool.release(0);
  EXPECT_EQ(pool.num_free(), 1);
  EXPECT_EQ(pool.allocate(), 0);
  pool.release(0);
  pool.release(1);
  pool.check_integrity();
  EXPECT_EQ(pool.num_free(), 2);
}

TEST(StatePoolDeath, ReleasingWhatIsFreeIsABug) {
  StatePool pool(1);
  EXPECT_DEATH(pool.release(0), "internal error");
  EXPECT_DEATH(pool.release(1), "internal error");
}

}  // namespace
}  // namespace hearth
