#include "cache/block_pool.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace hearth {
namespace {

TEST(BlockPool, GrowsByWholeBlocksAndAllOrNothing) {
  BlockPool pool(3, 4);
  BlockTable a;
  EXPECT_TRUE(pool.grow(a, 5));  // positions 0 … 4: two blocks
  EXPECT_EQ(a.blocks, (std::vector<std::int32_t>{0, 1}));
  EXPECT_TRUE(pool.grow(a, 8));  // still two
  EXPECT_EQ(pool.num_free(), 1);
  BlockTable b;
  EXPECT_FALSE(pool.grow(b, 8));  // needs two, one is free: takes none
  EXPECT_TRUE(b.blocks.empty());
  EXPECT_EQ(pool.num_free(), 1);
  pool.release(a);
  EXPECT_TRUE(a.blocks.empty());
  EXPECT_EQ(pool.num_free(), 3);
  pool.check_integrity();
}

TEST(BlockPool, NothingIsCachedToday) {
  BlockPool pool(4, 4);
  BlockTable a, b;
  const std::vector<std::int32_t> tokens{1, 2, 3, 4, 5};
  pool.start(a, tokens);
  ASSERT_TRUE(pool.grow(a, 5));
  pool.commit(a, tokens, 5);
  pool.release(a);
  EXPECT_EQ(pool.start(b, tokens).num_cached_tokens, 0);
  EXPECT_EQ(pool.num_free(), 4);
}

TEST(BlockPool, ForkSharesWholeBlocksAndHasAPartialOneOfItsOwn) {
  BlockPool pool(4, 4);
  BlockTable a;
  ASSERT_TRUE(pool.grow(a, 6));  // blocks 0, 1
  auto f = pool.fork(a, 6);
  ASSERT_TRUE(f.has_value());
  EXPECT_EQ(f->blocks, (std::vector<std::int32_t>{0, 2}));
  EXPECT_EQ(pool.ref_count(0), 2);
  pool.release(a);
  EXPECT_EQ(pool.num_free(), 2);  // block 0 is still held by the fork
  pool.release(*f);
  EXPECT_EQ(pool.num_free(), 4);
  pool.check_integrity();
}

TEST(BlockPool, ForkWithoutRoomForTheCopyTakesNothing) {
  BlockPool pool(2, 4);
  BlockTable a;
  ASSERT_TRUE(pool.grow(a, 6));
  EXPECT_FALSE(pool.fork(a, 6).has_value());
  EXPECT_EQ(pool.ref_count(0), 1);
  auto whole = pool.fork(a, 4);  // a multiple of N needs no copy
  ASSERT_TRUE(whole.has_value());
  EXPECT_EQ(whole->blocks, (std::vector<std::int32_t>{0}));
  pool.release(*whole);
  pool.release(a);
  pool.check_integrity();
}

TEST(BlockPoolDeath, ReleasingTwiceIsABug) {
  BlockPool pool(2, 4);
  BlockTable a;
  ASSERT_TRUE(pool.grow(a, 1));
  BlockTable copy = a;
  pool.release(a);
  EXPECT_DEATH(pool.release(copy), "internal error");
}

// The pool beside the obvious model of it: a count a block.
TEST(BlockPool, RandomStepsAgreeWithCounting) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    BlockPool pool(static_cast<std::int32_t>(1 + rng.below(12)), static_cast<std::int32_t>(1 + rng.below(5)));
    std::vector<std::pair<BlockTable, std::int64_t>> tables;
    for (int step = 0; step < 100; ++step) {
      const auto what = rng.below(4);
      if (what == 0) {
        tables.emplace_back();
      } else if (!tables.empty()) {
        auto& [table, tokens] = tables[rng.below(tables.size())];
        if (what == 1) {
          const std::int64_t wanted = tokens + static_cast<std::int64_t>(rng.below(10));
          if (pool.grow(table, wanted)) tokens = wanted;
        } else if (what == 2) {
          const std::int64_t part = static_cast<std::int64_t>(rng.below(static_cast<std::uint64_t>(tokens) + 1));
          if (auto f = pool.fork(table, part)) tables.emplace_back(*f, part);
        } else {
          pool.release(table);
          tokens = 0;
        }
      }
      std::vector<std::int32_t> counts(static_cast<std::size_t>(pool.num_blocks()), 0);
      for (const auto& [table, tokens] : tables)
        for (const std::int32_t b : table.blocks) ++counts[static_cast<std::size_t>(b)];
      std::int32_t unused = 0;
      for (std::int32_t b = 0; b < pool.num_blocks(); ++b) {
        ASSERT_EQ(pool.ref_count(b), counts[static_cast<std::size_t>(b)]);
        unused += counts[static_cast<std::size_t>(b)] == 0 ? 1 : 0;
      }
      ASSERT_EQ(pool.num_free(), unused);
      pool.check_integrity();
    }
  }
}

}  // namespace
}  // namespace hearth
