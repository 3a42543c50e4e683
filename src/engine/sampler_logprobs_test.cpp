// What a row reports: log-probabilities and logits, raw and processed, of tokens and of prompts.
#include "engine/sampler.h"

#include <cmath>

#include "engine/testing/sampler_rig.h"

namespace hearth {
namespace {

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

}  // namespace
}  // namespace hearth
