#include "engine/memory_plan.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

MemoryNeeds needs() {
  CacheSpec spec;  // 2 layers · 2 · 1 head · 4 = 16 numbers a token
  spec.num_kv_layers = 2;
  spec.num_kv_heads = 1;
  spec.head_dim = 4;
  MemoryNeeds n;
  n.weights = 10000;
  n.activations = 2000;
  n.logits = 500;
  n.workspace = 300;
  n.other = 150;
  n.program = 50;
  n.cache = cache_needs(spec, DType::bf16, 16, 2, 64);  // 32 bytes a token, 512 a block, 4 blocks a sequence
  return n;
}

TEST(MemoryPlan, TheCacheTakesWhatIsLeftUpToWhatIsUseful) {
  auto plan = plan_memory(needs(), 16000);  // 13000 fixed, 3000 left: 5 blocks
  ASSERT_TRUE(plan.ok()) << plan.status().message;
  EXPECT_EQ(plan->cache.num_blocks, 5);
  EXPECT_EQ(plan->kv_cache, 2560);
  EXPECT_EQ(plan->total(), 15560);
  EXPECT_EQ(plan_memory(needs(), 1 << 20)->cache.num_blocks, 8);
}

TEST(MemoryPlan, AnExplicitCacheSizeIsKept) {
  MemoryNeeds n = needs();
  n.cache_bytes = 2100;
  EXPECT_EQ(plan_memory(n, 1 << 20)->cache.num_blocks, 4);
  n.cache_bytes = 4000;
  auto refused = plan_memory(n, 16000);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.status().param, "kv_cache_memory_bytes");
}

TEST(MemoryPlan, AModelLargerThanMemoryIsRefusedWithTheNumbers) {
  auto plan = plan_memory(needs(), 12000);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().code, Code::resource_exhausted);
  EXPECT_NE(plan.status().message.find("needs 12.7 KiB without any cache (weights 9.8 KiB, "), std::string::npos)
      << plan.status().message;
  EXPECT_NE(plan.status().message.find("11.7 KiB may be used"), std::string::npos) << plan.status().message;
  plan = plan_memory(needs(), 13000 + 2047);  // a byte less than one sequence
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.status().param, "max_model_len");
}

TEST(MemoryPlan, LinesNameEachPurposeAndTheTotal) {
  const auto lines = plan_memory(needs(), 16000)->lines(16);
  ASSERT_EQ(lines.size(), 8u);  // no state
  EXPECT_EQ(lines[0], "weights          9.8 KiB");
  EXPECT_EQ(lines[1], "kv_cache         2.5 KiB  5 blocks of 16 tokens: 1.2 sequences of 64 tokens at once");
  EXPECT_EQ(lines[7], "total           15.2 KiB  of 15.6 KiB");
}

TEST(MemoryPlan, BytesReadWell) {
  EXPECT_EQ(format_bytes(512), "512 bytes");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(std::int64_t{3} << 29), "1.50 GiB");
}

}  // namespace
}  // namespace hearth
