// What is changed in a row before a token is chosen, and rows that cannot be sampled.
#include "engine/sampler.h"

#include <cmath>

#include "engine/testing/sampler_rig.h"

namespace hearth {
namespace {

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
