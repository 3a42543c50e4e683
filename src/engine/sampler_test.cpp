#include "engine/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/rng.h"

namespace hearth {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();

struct Asked {
  SamplingParams params;
  std::vector<std::int32_t> prompt, output;
  std::uint64_t seed = 0;
  LogprobsMode mode = LogprobsMode::raw_logprobs;

  Asked() { params.temperature = 0; }
  SampledRow sample(std::vector<float> logits) const {
    SampleRow row;
    row.params = &params;
    row.prompt = prompt;
    row.output = output;
    row.seed = seed;
    Sampler sampler(mode);
    return sampler.sample(logits, row);
  }
  std::int32_t token(std::vector<float> logits) const {
    const SampledRow row = sample(std::move(logits));
    EXPECT_TRUE(row.error.ok()) << row.error.message;
    return row.token.token;
  }
  // Which tokens can come out, over many draws.
  std::vector<std::int32_t> possible(const std::vector<float>& logits, int draws = 2000) {
    std::vector<char> seen(logits.size(), 0);
    for (int i = 0; i < draws; ++i) {
      seed = static_cast<std::uint64_t>(i);
      seen[static_cast<std::size_t>(token(logits))] = 1;
    }
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < seen.size(); ++i)
      if (seen[i]) ids.push_back(static_cast<std::int32_t>(i));
    return ids;
  }
};

using Ids = std::vector<std::int32_t>;

// ---- edits, one by one ------------------------------------------------------------------------------------------------------

TEST(Sampler, GreedyTakesTheLargestAndTheLowestOfTies) {
  Asked a;
  EXPECT_EQ(a.token({1, 5, 2}), 1);
  EXPECT_EQ(a.token({1, 5, 5}), 1);
  a.params.temperature = 9e-6f;
  EXPECT_EQ(a.token({1, 5, 2}), 1);
}

TEST(Sampler, AllowedIds) {
  Asked a;
  a.params.allowed_token_ids = {0, 2, 99};  // 99 is not in the row
  EXPECT_EQ(a.token({1, 5, 2}), 2);
}

TEST(Sampler, BadWordsOfOneAndOfSeveralTokens) {
  Asked a;
  a.params.bad_words = {{1}};
  EXPECT_EQ(a.token({1, 5, 2}), 2);
  a.params.bad_words = {{0, 2, 1}};  // 1 is banned right after 0, 2
  a.prompt = {0, 2};
  EXPECT_EQ(a.token({1, 5, 2}), 1);  // the prompt does not count
  a.output = {0, 2};
  EXPECT_EQ(a.token({1, 5, 2}), 2);
  a.output = {2, 0};
  EXPECT_EQ(a.token({1, 5, 2}), 1);
  a.output = {2};  // shorter than the prefix
  EXPECT_EQ(a.token({1, 5, 2}), 1);
}

TEST(Sampler, MinTokensMasksEosAndStopIdsUntilReached) {
  Asked a;
  a.params.eos_token_ids = {1};
  a.params.stop_token_ids = {2};
  a.params.min_tokens = 2;
  EXPECT_EQ(a.token({1, 5, 4}), 0);
  a.output = {0};
  EXPECT_EQ(a.token({1, 5, 4}), 0);
  a.output = {0, 0};
  EXPECT_EQ(a.token({1, 5, 4}), 1);
  a.output = {};
  a.params.ignore_eos = true;  // eos ends nothing, so it is a token like any other
  EXPECT_EQ(a.token({1, 5, 4}), 1);
}

TEST(Sampler, LogitBias) {
  Asked a;
  a.params.logit_bias = {{0, 4.5f}, {1, -0.25f}, {-1, 9.0f}, {3, 9.0f}};
  EXPECT_EQ(a.token({1, 5, 2}), 0);  // 5.5 against 4.75
}

TEST(Sampler, RepetitionPenaltyDividesPositiveAndMultipliesNegative) {
  Asked a;
  a.params.repetition_penalty = 2;
  a.prompt = {1, 1};
  EXPECT_EQ(a.token({2.4f, 5, 2}), 1);  // 2.5: once, not once an occurrence
  EXPECT_EQ(a.token({2.6f, 5, 2}), 0);
  a.output = {0, 0};
  a.prompt = {};
  EXPECT_EQ(a.token({-1, -1.9f, -2.1f}), 1);  // −2 against −1.9
  EXPECT_EQ(a.token({-1, -2.1f, -2.2f}), 0);
}

TEST(Sampler, FrequencyPenaltyCountsAndPresencePenaltyDoesNot) {
  Asked a;
  a.output = {1, 1, 1};
  a.prompt = {0, 0, 0, 0, 0, 0, 0, 0};  // the prompt does not count
  a.params.frequency_penalty = 1;
  EXPECT_EQ(a.token({2.1f, 5, 0}), 0);  // 5 − 3
  EXPECT_EQ(a.token({1.9f, 5, 0}), 1);
  a.params.frequency_penalty = 0;
  a.params.presence_penalty = 1;
  EXPECT_EQ(a.token({3.9f, 5, 0}), 1);  // 5 − 1
  EXPECT_EQ(a.token({4.1f, 5, 0}), 0);
}

TEST(Sampler, RepetitionComesBeforeFrequencyAndBiasBeforeBoth) {
  Asked a;
  a.output = {1};
  a.params.repetition_penalty = 2;
  a.params.frequency_penalty = 1;
  // (8 / 2) − 1 = 3; the other order gives 3.5
  EXPECT_EQ(a.token({3.2f, 8, 0}), 0);
  EXPECT_EQ(a.token({2.8f, 8, 0}), 1);
  a.params.frequency_penalty = 0;
  a.params.logit_bias = {{1, 4.0f}};  // (8 + 4) / 2 = 6, not 8
  EXPECT_EQ(a.token({6.5f, 8, 0}), 0);
}

TEST(Sampler, PenaltiesLeaveNoTraceForTheNextRow) {
  SamplingParams p;
  p.temperature = 0;
  p.repetition_penalty = 4;
  p.presence_penalty = 1;
  const Ids history{1, 1, 2}, prompt{0};
  Sampler sampler;
  SampleRow row;
  row.params = &p;
  row.prompt = prompt;
  row.output = history;
  std::vector<float> logits{1, 8, 3, 0.5f};
  EXPECT_EQ(sampler.sample(logits, row).token.token, 1);  // 0.25, 1, −0.25, 0.5
  row.prompt = row.output = {};
  logits = {1, 8, 3, 0.5f};
  EXPECT_EQ(sampler.sample(logits, row).token.token, 1);
  row.output = history;
  logits = {1, 2, 3, 0.5f};  // 1, −0.5, −0.25, 0.5
  EXPECT_EQ(sampler.sample(logits, row).token.token, 0);
}

// ---- cuts -------------------------------------------------------------------------------------------------------------------

// Probabilities .5 .3 .15 .05 at temperature 1, in an order that is not theirs.
const std::vector<float> kFour{std::log(0.15f), std::log(0.5f), std::log(0.05f), std::log(0.3f)};

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

// ---- draws ------------------------------------------------------------------------------------------------------------------

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

// ---- logprobs ---------------------------------------------------------------------------------------------------------------

TEST(Sampler, RawLogprobsSeeNoEdits) {
  Asked a;
  a.params.logprobs = 2;
  a.params.logit_bias = {{2, 100.0f}};
  const TokenOutput t = a.sample(kFour).token;
  EXPECT_EQ(t.token, 2);
  EXPECT_NEAR(t.logprob, std::log(0.05), 1e-6);
  EXPECT_EQ(t.rank, 4);
  ASSERT_EQ(t.top.size(), 2u);
  EXPECT_EQ(t.top[0].token, 1);
  EXPECT_NEAR(t.top[0].logprob, std::log(0.5), 1e-6);
  EXPECT_EQ(t.top[0].rank, 1);
  EXPECT_EQ(t.top[1].token, 3);
  EXPECT_EQ(t.top[1].rank, 2);
}

TEST(Sampler, LogprobsAtTemperatureAreOfTheModel) {
  Asked a;
  a.params.temperature = 0.5f;
  a.params.logprobs = 0;
  const TokenOutput t = a.sample(kFour).token;
  EXPECT_NEAR(t.logprob, static_cast<double>(kFour[static_cast<std::size_t>(t.token)]), 1e-6);
  EXPECT_TRUE(t.top.empty());
}

TEST(Sampler, ProcessedLogprobsSeeEverything) {
  Asked a;
  a.mode = LogprobsMode::processed_logprobs;
  a.params.temperature = 0.5f;  // squares: .25 .09 | .0225 .0025 cut
  a.params.top_k = 2;
  a.params.logprobs = 4;
  const TokenOutput t = a.sample(kFour).token;
  ASSERT_EQ(t.top.size(), 2u);
  EXPECT_NEAR(t.top[0].logprob, std::log(0.25 / 0.34), 1e-5);
  EXPECT_NEAR(t.top[1].logprob, std::log(0.09 / 0.34), 1e-5);
}

TEST(Sampler, LogitsModesGiveLogits) {
  Asked a;
  a.params.logprobs = 1;
  a.params.logit_bias = {{0, 1.0f}};
  a.mode = LogprobsMode::raw_logits;
  EXPECT_EQ(a.sample({1, 5, 2}).token.logprob, 5.0f);
  a.mode = LogprobsMode::processed_logits;
  a.params.logit_bias = {{1, 1.0f}};
  EXPECT_EQ(a.sample({1, 5, 2}).token.logprob, 6.0f);
  EXPECT_EQ(a.sample({1, 5, 2}).token.top[0].logprob, 6.0f);
}

TEST(Sampler, AllLogprobsListTheWholeVocabulary) {
  Asked a;
  a.params.logprobs = SamplingParams::kAllLogprobs;
  const TokenOutput t = a.sample(kFour).token;
  ASSERT_EQ(t.top.size(), 4u);
  EXPECT_EQ(t.top[3].token, 2);
  EXPECT_EQ(t.top[3].rank, 4);
  double sum = 0;
  for (const TokenLogprob& l : t.top) sum += std::exp(static_cast<double>(l.logprob));
  EXPECT_NEAR(sum, 1.0, 1e-6);
}

TEST(Sampler, PromptRowsReportTheTarget) {
  SamplingParams p;
  p.prompt_logprobs = 1;
  SampleRow row;
  row.params = &p;
  row.sample = false;
  row.target = 3;
  std::vector<float> logits = kFour;
  const TokenOutput t = Sampler().sample(logits, row).token;
  EXPECT_EQ(t.token, 3);
  EXPECT_NEAR(t.logprob, std::log(0.3), 1e-6);
  EXPECT_EQ(t.rank, 2);
  ASSERT_EQ(t.top.size(), 1u);
  EXPECT_EQ(t.top[0].token, 1);
}

// ---- what is wrong ----------------------------------------------------------------------------------------------------------

TEST(Sampler, NanAndInfFailTheRow) {
  Asked a;
  SampledRow row = a.sample({1, std::nanf(""), 2});
  EXPECT_EQ(row.error.code, Code::internal);
  EXPECT_NE(row.error.message.find("NaN as the logit of token 1"), std::string::npos) << row.error.message;
  row = a.sample({1, 2, kInf});
  EXPECT_NE(row.error.message.find("an infinite number as the logit of token 2"), std::string::npos)
      << row.error.message;
  EXPECT_FALSE(a.sample({-kInf, 2, 1}).error.ok());
  a.params.debug_poison_nan = true;
  EXPECT_FALSE(a.sample({1, 2, 3}).error.ok());
}

TEST(Sampler, NothingLeftToChooseIsSaid) {
  Asked a;
  a.params.allowed_token_ids = {1};
  a.params.eos_token_ids = {1};
  a.params.min_tokens = 3;
  const SampledRow row = a.sample({1, 2, 3});
  EXPECT_EQ(row.error.code, Code::invalid_argument);
  EXPECT_EQ(row.error.param, "allowed_token_ids");
  a.params.temperature = 1;
  EXPECT_FALSE(a.sample({1, 2, 3}).error.ok());
}

}  // namespace
}  // namespace hearth
