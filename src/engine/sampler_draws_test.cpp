// Which tokens min_p, top_k and top_p leave, and how one of them is drawn.
#include "engine/sampler.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/rng.h"
#include "engine/testing/sampler_rig.h"

namespace hearth {
namespace {

TEST(Sampler, TopK) {
  Asked a;
  a.params.temperature = 1;
  a.params.top_k = 2;
  EXPECT_EQ(a.possible(kFour), (Ids{1, 3}));
  a.params.top_k = 1;
  EXPECT_EQ(a.possible(kFour, 50), (Ids{1}));
  a.params.top_k = 4;
  EXPECT_EQ(a.possible(kFour), (Ids{0, 1, 2, 3}));
  a.params.top_k = 1;
  EXPECT_EQ(a.possible({2, 2, 2}, 50), (Ids{0}));  // ties: the lowest id
}

TEST(Sampler, TopP) {
  Asked a;
  a.params.temperature = 1;
  a.params.top_p = 0.45f;
  EXPECT_EQ(a.possible(kFour, 100), (Ids{1}));
  a.params.top_p = 0.75f;
  EXPECT_EQ(a.possible(kFour), (Ids{1, 3}));
  a.params.top_p = 0.9f;
  EXPECT_EQ(a.possible(kFour), (Ids{0, 1, 3}));
  a.params.top_p = 0.999f;
  EXPECT_EQ(a.possible(kFour), (Ids{0, 1, 2, 3}));
  a.params.top_p = 1e-9f;
  EXPECT_EQ(a.possible(kFour, 50), (Ids{1}));  // at least one
}

TEST(Sampler, MinPIsRelativeToTheBest) {
  Asked a;
  a.params.temperature = 1;
  a.params.min_p = 0.25f;  // 0.125 and more
  EXPECT_EQ(a.possible(kFour), (Ids{0, 1, 3}));
  a.params.min_p = 1.0f;
  EXPECT_EQ(a.possible(kFour, 50), (Ids{1}));
  EXPECT_EQ(a.possible({3, 1, 3}), (Ids{0, 2}));
}

TEST(Sampler, TopPSeesWhatTopKLeft) {
  Asked a;
  a.params.temperature = 1;
  a.params.top_k = 2;  // .625 .375 after renormalising
  a.params.top_p = 0.6f;
  EXPECT_EQ(a.possible(kFour, 200), (Ids{1}));
  a.params.top_p = 0.7f;
  EXPECT_EQ(a.possible(kFour), (Ids{1, 3}));
  a.params.top_k = 0;
  a.params.min_p = 0.25f;  // .526 .316 .158
  a.params.top_p = 0.83f;
  EXPECT_EQ(a.possible(kFour), (Ids{1, 3}));
}

TEST(Sampler, TemperatureComesBeforeTheCuts) {
  Asked a;
  a.params.temperature = 2;  // .5 .3 .15 .05 → ratios √: 1 .775 .548 .316
  a.params.min_p = 0.5f;
  EXPECT_EQ(a.possible(kFour), (Ids{0, 1, 3}));
  a.params.temperature = 1;
  EXPECT_EQ(a.possible(kFour), (Ids{1, 3}));
}

// The cuts beside sorting, on random rows.
TEST(Sampler, CutsAgreeWithSorting) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Rng rng(seed);
    std::vector<float> row(1 + rng.below(2000));
    const double spread = rng.below(3) == 0 ? 0.1 : 3.0;
    for (float& x : row) x = rng.below(10) == 0 ? -kInf : static_cast<float>(rng.normal() * spread);
    row[0] = 1;
    SamplingParams p;
    if (rng.below(2)) p.top_k = static_cast<int>(1 + rng.below(row.size()));
    if (rng.below(2)) p.top_p = static_cast<float>(rng.uniform());
    if (rng.below(3) == 0) p.min_p = static_cast<float>(rng.uniform());
    if (p.top_p <= 0) p.top_p = 0.5f;
    std::vector<Candidate> sorted;
    for (std::size_t i = 0; i < row.size(); ++i)
      if (row[i] > -kInf) sorted.push_back({row[i], static_cast<std::int32_t>(i)});
    std::sort(sorted.begin(), sorted.end(), better);
    const double best = static_cast<double>(sorted[0].logit);
    auto weight = [&](const Candidate& c) { return std::exp(static_cast<double>(c.logit) - best); };
    if (p.min_p > 0)
      std::erase_if(sorted, [&](const Candidate& c) { return weight(c) < static_cast<double>(p.min_p); });
    if (p.top_k > 0 && sorted.size() > static_cast<std::size_t>(p.top_k))
      sorted.resize(static_cast<std::size_t>(p.top_k));
    double total = 0, sum = 0;
    for (const Candidate& c : sorted) total += weight(c);
    std::size_t keep = 0;
    while (keep < sorted.size() && (keep == 0 || sum < static_cast<double>(p.top_p) * total))
      sum += weight(sorted[keep++]);

    Nucleus nucleus;
    nucleus.cut(row, scan_row(row).max, p);
    std::vector<float> masked = row;
    nucleus.mask(masked);
    const auto left =
        static_cast<std::size_t>(std::count_if(masked.begin(), masked.end(), [](float x) { return x > -kInf; }));
    if (p.top_p < 1) {
      // A border that falls within rounding of a cut may go either way.
      EXPECT_LE(left > keep ? left - keep : keep - left, 1u);
    } else if (p.min_p == 0 || p.top_k > 0) {
      EXPECT_EQ(left, keep);
    }
    for (std::size_t i = 0; i + 1 < std::min(left, keep); ++i)
      EXPECT_GT(masked[static_cast<std::size_t>(sorted[i].id)], -kInf);
  }
}

double chi_square(const std::vector<int>& counts, const std::vector<double>& probabilities, int draws) {
  double sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double expected = probabilities[i] * draws;
    if (expected > 0) sum += (counts[i] - expected) * (counts[i] - expected) / expected;
  }
  return sum;
}

TEST(Sampler, DrawsFollowTheDistribution) {
  // 600 tokens: three chunks of the whole-row path; temperature 0.7; also cut to the best 20 of them.
  Rng rng(5);
  std::vector<float> row(600);
  for (float& x : row) x = static_cast<float>(rng.normal());
  for (const int top_k : {0, 20}) {
    Asked a;
    a.params.temperature = 0.7f;
    a.params.top_k = top_k;
    std::vector<Candidate> sorted;
    for (std::size_t i = 0; i < row.size(); ++i) sorted.push_back({row[i], static_cast<std::int32_t>(i)});
    std::sort(sorted.begin(), sorted.end(), better);
    if (top_k > 0) sorted.resize(static_cast<std::size_t>(top_k));
    std::vector<double> p(row.size(), 0);
    double total = 0;
    for (const Candidate& c : sorted)
      total += p[static_cast<std::size_t>(c.id)] = std::exp(static_cast<double>(c.logit) / 0.7);
    for (double& x : p) x /= total;
    const int draws = 200000;
    std::vector<int> counts(row.size(), 0);
    for (int i = 0; i < draws; ++i) {
      a.seed = static_cast<std::uint64_t>(i);
      ++counts[static_cast<std::size_t>(a.token(row))];
    }
    for (std::size_t i = 0; i < p.size(); ++i) {
      if (p[i] == 0) {
        ASSERT_EQ(counts[i], 0);
      }
    }
    // Degrees of freedom d = tokens − 1: chi² has mean d and deviation √2d; 4 deviations.
    const double d = static_cast<double>(sorted.size()) - 1;
    EXPECT_LT(chi_square(counts, p, draws), d + 4 * std::sqrt(2 * d)) << "top_k " << top_k;
  }
}

TEST(Sampler, ADrawDependsOnSeedAndPositionOnly) {
  Rng rng(9);
  std::vector<std::vector<float>> rows(20, std::vector<float>(500));
  for (auto& row : rows)
    for (float& x : row) x = static_cast<float>(rng.normal());
  SamplingParams p;
  p.top_p = 0.9f;
  const Ids output{3, 4};
  Ids alone;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    std::vector<float> row = rows[i];
    SampleRow s;
    s.params = &p;
    s.output = output;
    s.seed = 100 + i;
    Sampler fresh;
    alone.push_back(fresh.sample(row, s).token.token);
  }
  Sampler shared;
  for (std::size_t i = rows.size(); i-- > 0;) {  // another order, with other work between
    std::vector<float> row = rows[i], other = rows[(i + 3) % rows.size()];
    SampleRow s;
    s.params = &p;
    s.seed = 7;
    (void)shared.sample(other, s);
    s.output = output;
    s.seed = 100 + i;
    EXPECT_EQ(shared.sample(row, s).token.token, alone[i]);
  }
  // Another position draws another number.
  std::vector<float> row(1000, 0.0f), again(1000, 0.0f);
  SampleRow s;
  s.params = &p;
  s.seed = 1;
  const auto first = shared.sample(row, s).token.token;
  s.output = output;
  EXPECT_NE(shared.sample(again, s).token.token, first);
}

}  // namespace
}  // namespace hearth
