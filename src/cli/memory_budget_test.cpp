#include "cli/memory_budget.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/status.h"

namespace hearth {
namespace {

using testing::HasSubstr;

constexpr std::int64_t kMiB = 1 << 20, kGiB = 1 << 30;
constexpr MachineMemory kMachine{16 * kGiB, 12 * kGiB};

// 1 MiB a block of 16 tokens.
MemoryNeeds needs(std::int64_t max_model_len = 1024, std::int32_t max_num_seqs = 64) {
  MemoryNeeds all;
  all.weights = 2 * kGiB;
  all.activations = kGiB / 2;
  all.workspace = kGiB / 2;
  CacheNeeds& n = all.cache;
  n.kv_bytes_per_token = kMiB / 16;
  n.block_tokens = 16;
  n.max_num_seqs = max_num_seqs;
  n.max_model_len = max_model_len;
  n.max_model_len_limit = 32768;
  return all;
}

std::string error_of(const MemoryOptions& options, const MemoryNeeds& n) {
  try {
    (void)plan_start(kMachine, options, n);
  } catch (const StartupError& e) {
    EXPECT_EQ(e.exit_code(), 1);
    return std::string(e.what()) + " | " + e.hint();
  }
  return "no error";
}

TEST(MemoryBudget, DefaultIsSmall) {
  const StartPlan p = plan_start(kMachine, {}, needs());
  EXPECT_EQ(p.floor, kGiB);
  EXPECT_EQ(p.plan.budget, 11 * kGiB);
  EXPECT_EQ(p.plan.cache.kv_bytes, kGiB);
  EXPECT_EQ(p.plan.cache.num_blocks, 1024);
  EXPECT_EQ(p.plan.total(), 4 * kGiB);
}

TEST(MemoryBudget, DefaultHoldsOneSequenceOfFullLength) {
  EXPECT_EQ(plan_start(kMachine, {}, needs(32768)).plan.cache.num_blocks, 2048);
}

TEST(MemoryBudget, DefaultLengthIsCutToWhatFits) {
  const StartPlan p = plan_start(kMachine, {}, needs(0));
  EXPECT_EQ(p.plan.cache.max_model_len, 16384);
  EXPECT_TRUE(p.cut_max_model_len);
}

TEST(MemoryBudget, ShareAndCapGiveAllThatIsLeft) {
  MemoryOptions share;
  share.utilization = 0.5;  // 8 GiB, 5 left
  EXPECT_EQ(plan_start(kMachine, share, needs(8192)).plan.cache.kv_bytes, 5 * kGiB);
  // What 64 sequences of 1024 tokens can use is less.
  EXPECT_EQ(plan_start(kMachine, share, needs(1024)).plan.cache.kv_bytes, 4 * kGiB);
  MemoryOptions cap;
  cap.cap_bytes = 4 * kGiB;
  EXPECT_EQ(plan_start(kMachine, cap, needs()).plan.cache.kv_bytes, kGiB);
  EXPECT_EQ(plan_start(kMachine, cap, needs()).limit_from, "--memory");
}

TEST(MemoryBudget, GivenSizes) {
  MemoryOptions bytes;
  bytes.kv_cache_bytes = 100 * kMiB;
  EXPECT_EQ(plan_start(kMachine, bytes, needs(512)).plan.cache.num_blocks, 100);
  MemoryOptions blocks;
  blocks.num_blocks = 70;
  EXPECT_EQ(plan_start(kMachine, blocks, needs(512)).plan.cache.num_blocks, 70);
  EXPECT_EQ(plan_start(kMachine, blocks, needs(512)).plan.cache.kv_bytes, 70 * kMiB);
  EXPECT_THAT(error_of(blocks, needs(2048)), HasSubstr("raise --num-gpu-blocks-override"));
}

TEST(MemoryBudget, RefusalsHaveTheNumbers) {
  MemoryOptions cap;
  cap.cap_bytes = kMiB;
  EXPECT_THAT(error_of(cap, needs()), testing::AllOf(HasSubstr("3.00 GiB"), HasSubstr("1.0 MiB may be used (--memory)"),
                                                     HasSubstr("raise --memory")));
  MemoryNeeds large = needs();
  large.weights = 20 * kGiB;
  EXPECT_THAT(error_of({}, large),
              testing::AllOf(HasSubstr("weights 20.00 GiB"),
                             HasSubstr("11.00 GiB may be used (12.00 GiB free less a floor of 1.00 GiB)")));
  MemoryOptions bytes;
  bytes.kv_cache_bytes = 9 * kGiB;
  EXPECT_THAT(error_of(bytes, needs()), HasSubstr("a cache of 9.00 GiB was asked for"));
  MemoryOptions floor;
  floor.floor_bytes = 11 * kGiB;
  EXPECT_THAT(error_of(floor, needs()), HasSubstr("lower --memory-floor"));
  MemoryOptions small;
  small.kv_cache_bytes = 16 * kMiB;
  EXPECT_THAT(error_of(small, needs(1024)),
              testing::AllOf(HasSubstr("the longest that fits is 256"), HasSubstr("raise --kv-cache-memory-bytes")));
}

TEST(MemoryBudget, RecurrentState) {
  MemoryNeeds n = needs(1024, 8);
  n.cache.state_bytes_per_slot = 2 * kMiB;
  const StartPlan p = plan_start(kMachine, {}, n);
  EXPECT_EQ(p.plan.cache.num_state_slots, 8);
  EXPECT_EQ(p.plan.cache.state_bytes, 16 * kMiB);
}

TEST(MemoryBudget, TheMachineHasMemory) {
  const MachineMemory m = machine_memory();
  EXPECT_GT(m.total, 64 * kMiB);
  EXPECT_LE(m.available, m.total);
}

}  // namespace
}  // namespace hearth
