#include "engine/row_math.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.h"

namespace hearth {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

std::vector<float> random_row(Rng& rng, std::size_t n, bool ties) {
  std::vector<float> row(n);
  for (float& x : row) x = ties ? static_cast<float>(rng.below(6)) : static_cast<float>(rng.normal() * 4);
  return row;
}

TEST(RowMath, ScanFindsTheFirstMaximum) {
  EXPECT_EQ(scan_row(std::vector<float>{1, 3, 3, 2}).argmax, 1);
  EXPECT_EQ(scan_row(std::vector<float>{0.0f, -0.0f}).argmax, 0);
  EXPECT_EQ(scan_row(std::vector<float>{-0.0f, 0.0f}).argmax, 0);  // equal: the lowest id
  std::vector<float> row(37, -5);
  row[20] = row[36] = 7;
  EXPECT_EQ(scan_row(row).argmax, 20);
  EXPECT_EQ(scan_row(row).max, 7);
  EXPECT_TRUE(scan_row(row).finite);
}

TEST(RowMath, ScanSeesEveryBadNumber) {
  for (std::size_t n : {1u, 7u, 8u, 9u, 64u, 77u})
    for (std::size_t at = 0; at < n; ++at)
      for (float bad : {std::nanf(""), kInf, -kInf}) {
        std::vector<float> row(n, 1.0f);
        row[at] = bad;
        EXPECT_FALSE(scan_row(row).finite) << n << " " << at;
      }
}

TEST(RowMath, ExpIsNearTheRealOne) {
  EXPECT_EQ(exp_one(0), 1.0f);
  EXPECT_EQ(exp_one(-kInf), 0.0f);
  EXPECT_EQ(exp_one(-100), 0.0f);
  double worst = 0;
  for (int i = 0; i <= 87000; ++i) {
    const float x = -static_cast<float>(i) / 1000.0f;
    const double real = std::exp(static_cast<double>(x));
    worst = std::max(worst, std::abs(static_cast<double>(exp_one(x)) - real) / real);
  }
  EXPECT_LT(worst, 3e-7);
}

TEST(RowMath, SumsRanksAndBestAgreeWithSorting) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    const std::size_t n = 1 + rng.below(700);
    std::vector<float> row = random_row(rng, n, seed % 2 == 0);
    if (seed % 3 == 0)
      for (float& x : row)
        if (rng.below(4) == 0) x = -kInf;
    row[rng.below(n)] = 3.0f;
    const RowScan scan = scan_row(row);
    std::vector<Candidate> sorted;
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      sorted.push_back({row[i], static_cast<std::int32_t>(i)});
      sum += std::exp(static_cast<double>(row[i]) - static_cast<double>(scan.max));
    }
    std::sort(sorted.begin(), sorted.end(), better);
    EXPECT_EQ(scan.argmax, sorted[0].id);
    EXPECT_NEAR(sum_exp(row, scan.max), sum, sum * 1e-6);
    std::vector<double> sums;
    EXPECT_NEAR(sum_exp_chunks(row, scan.max, sums), sum, sum * 1e-6);
    EXPECT_EQ(sums.size(), (n + 255) / 256);
    const std::size_t pick = rng.below(n);
    EXPECT_EQ(rank_in_row(row, sorted[pick].id), static_cast<int>(pick) + 1);

    const auto k = static_cast<std::int32_t>(1 + rng.below(n));
    std::vector<Candidate> best;
    gather_top_k(row, k, best);
    std::sort(best.begin(), best.end(), better);
    const auto finite =
        static_cast<std::size_t>(std::count_if(row.begin(), row.end(), [](float x) { return x > -kInf; }));
    ASSERT_EQ(best.size(), std::min(static_cast<std::size_t>(k), finite));
    for (std::size_t i = 0; i < best.size(); ++i) EXPECT_EQ(best[i].id, sorted[i].id);

    gather_at_least(row, sorted[pick].logit, best);
    EXPECT_EQ(best.size(), static_cast<std::size_t>(std::count_if(
                               row.begin(), row.end(), [&](float x) { return x >= sorted[pick].logit && x > -kInf; })));
  }
}

}  // namespace
}  // namespace hearth
