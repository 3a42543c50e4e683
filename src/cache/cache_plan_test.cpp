#include "cache/cache_plan.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

// 4 tokens a block, 10 bytes a token, 100 bytes a slot, 40 tokens a sequence (10 blocks of 40 bytes).
CacheNeeds small() {
  CacheNeeds n;
  n.kv_bytes_per_token = 10;
  n.block_tokens = 4;
  n.state_bytes_per_slot = 100;
  n.max_num_seqs = 3;
  n.max_model_len = 40;
  return n;
}

TEST(CachePlan, OneSequenceFillsTheSmallestBudget) {
  auto plan = plan_cache(small(), 500);  // 10 · 40 + 100
  ASSERT_TRUE(plan.ok()) << plan.status().message;
  EXPECT_EQ(plan->num_blocks, 10);
  EXPECT_EQ(plan->num_state_slots, 1);
  EXPECT_EQ(plan->kv_bytes, 400);
  EXPECT_EQ(plan->state_bytes, 100);
  EXPECT_DOUBLE_EQ(plan->concurrency(4), 1.0);
}

TEST(CachePlan, OneByteLessIsRefusedWithTheNumbers) {
  auto plan = plan_cache(small(), 499);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().param, "max_model_len");
  EXPECT_NE(plan.status().message.find("max_model_len 40"), std::string::npos) << plan.status().message;
  EXPECT_NE(plan.status().message.find("the longest that fits is 36"), std::string::npos) << plan.status().message;
}

TEST(CachePlan, SlotsComeBeforeMoreBlocks) {
  auto plan = plan_cache(small(), 760);  // 10 blocks and 3 slots are 700; one more block fits
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->num_state_slots, 3);
  EXPECT_EQ(plan->num_blocks, 11);
}

TEST(CachePlan, MoreThanUsefulIsNotTaken) {
  auto plan = plan_cache(small(), 1 << 30);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->num_blocks, 30);
  EXPECT_EQ(plan->num_state_slots, 3);
  EXPECT_EQ(plan->kv_bytes + plan->state_bytes, largest_useful_cache_bytes(small()));
}

TEST(CachePlan, AutoLengthIsTheLongestThatFits) {
  CacheNeeds n = small();
  n.max_model_len = 0;
  n.max_model_len_limit = 1000;
  EXPECT_EQ(plan_cache(n, 499)->max_model_len, 36);
  EXPECT_EQ(plan_cache(n, 1 << 30)->max_model_len, 1000);
  EXPECT_FALSE(plan_cache(n, 130).ok());  // a slot and not one block
  EXPECT_FALSE(plan_cache(n, -5).ok());
}

TEST(CachePlan, WithoutRecurrentStateThereAreNoSlots) {
  CacheNeeds n = small();
  n.state_bytes_per_slot = 0;
  auto plan = plan_cache(n, 400);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->num_state_slots, 0);
  EXPECT_EQ(plan->num_blocks, 10);
}

TEST(CachePlan, BlockIdsStaySmallEnoughForSlotNumbers) {
  CacheNeeds n = small();
  n.kv_bytes_per_token = 0;
  n.max_num_seqs = 1 << 20;
  n.max_model_len = 1 << 20;
  auto plan = plan_cache(n, 1 << 30);
  ASSERT_TRUE(plan.ok());
  EXPECT_LE(static_cast<std::int64_t>(plan->num_blocks) * 4, 2147483647);
}

}  // namespace
}  // namespace hearth
