// HEARTH_SEED=n replays one schedule; HEARTH_SIM_SCHEDULES=n changes how many run.
#include "engine/testing/sim.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/log.h"

namespace hearth {
namespace {

TEST(Simulation, EverySeededScheduleHolds) {
  if (const char* seed = std::getenv("HEARTH_SEED")) {
    const SimResult r = run_simulation(std::strtoull(seed, nullptr, 10));
    EXPECT_EQ(r.failure, "") << "HEARTH_SEED=" << seed;
    return;
  }
  set_log_level(LogLevel::off);  // lost devices are part of it
  const char* wanted = std::getenv("HEARTH_SIM_SCHEDULES");
  const std::uint64_t schedules = wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 30000;
  SimResult sum;
  for (std::uint64_t seed = 0; seed < schedules; ++seed) {
    const SimResult r = run_simulation(seed);
    ASSERT_EQ(r.failure, "") << "HEARTH_SEED=" << seed;
    sum.num_steps += r.num_steps;
    sum.num_requests += r.num_requests;
    sum.num_preemptions += r.num_preemptions;
    sum.num_tokens += r.num_tokens;
    sum.num_copies += r.num_copies;
  }
  set_log_level(LogLevel::info);
  RecordProperty("preemptions", static_cast<int>(sum.num_preemptions));
  std::printf("%llu schedules: %lld requests, %lld steps, %lld tokens, %lld preemptions, %lld copies\n",
              static_cast<unsigned long long>(schedules), static_cast<long long>(sum.num_requests),
              static_cast<long long>(sum.num_steps), static_cast<long long>(sum.num_tokens),
              static_cast<long long>(sum.num_preemptions), static_cast<long long>(sum.num_copies));
  if (schedules >= 1000) {  // the pools are tiny enough
    EXPECT_GT(sum.num_preemptions, static_cast<std::int64_t>(schedules) / 10);
    EXPECT_GT(sum.num_copies, static_cast<std::int64_t>(schedules));
  }
}

}  // namespace
}  // namespace hearth
