#include "base/args.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "base/status.h"

namespace hearth {
namespace {

const ArgParser& parser() {
  static const ArgParser p({{"model", Arity::value},
                            {"max-model-len", Arity::value},
                            {"max-num-seqs", Arity::value},
                            {"max-num-batched-tokens", Arity::value},
                            {"tensor-parallel-size", Arity::value, "-tp"},
                            {"optimization-level", Arity::value, "-O"},
                            {"served-model-name", Arity::many},
                            {"hf-token", Arity::optional_value},
                            {"enable-prefix-caching", Arity::flag},
                            {"trust-remote-code", Arity::flag},
                            {"limit-mm-per-prompt", Arity::json},
                            {"speculative-config", Arity::json, "-sc"}});
  return p;
}

std::string error_of(const std::vector<std::string>& args) {
  try {
    (void)parser().parse(args);
  } catch (const StartupError& e) {
    EXPECT_EQ(e.exit_code(), 2);
    return std::string(e.what()) + " | " + e.hint();
  }
  return "no error";
}

TEST(Args, ValuesUnderscoresAndEquals) {
  const ParsedArgs a = parser().parse({"M", "--max_model_len", "8192", "--max-num-seqs=16", "--served-model-name=a_b"});
  EXPECT_EQ(a.positionals, std::vector<std::string>{"M"});
  EXPECT_EQ(a.text("max-model-len"), "8192");
  EXPECT_EQ(a.integer("max-num-seqs", 1, 1, 100), 16);
  EXPECT_EQ(a.list("served-model-name"), std::vector<std::string>{"a_b"});
  EXPECT_TRUE(a.warnings.empty());
}

TEST(Args, UnambiguousPrefix) {
  EXPECT_EQ(parser().parse({"--max-num-s", "8"}).text("max-num-seqs"), "8");
  EXPECT_EQ(error_of({"--max-num", "8"}),
            "ambiguous option --max-num could be --max-num-batched-tokens, --max-num-seqs | write the name out");
}

TEST(Args, FlagsAndTwins) {
  EXPECT_TRUE(parser().parse({"--enable-prefix-caching"}).on("enable-prefix-caching"));
  EXPECT_FALSE(parser().parse({"--no-enable-prefix-caching"}).on("enable-prefix-caching", true));
  const ParsedArgs both = parser().parse({"--enable-prefix-caching", "--no-enable-prefix-caching"});
  EXPECT_FALSE(both.on("enable-prefix-caching", true));
  EXPECT_EQ(both.warnings.size(), 1u);
  // `true` after a flag is a stray word, as in argparse; with '=' it is an error at once.
  EXPECT_EQ(parser().parse({"--trust-remote-code", "true"}).positionals, std::vector<std::string>{"true"});
  EXPECT_EQ(error_of({"--trust-remote-code=true"}),
            "--trust-remote-code takes no value (got 'true') | write --trust-remote-code or --no-trust-remote-code");
}

TEST(Args, RepeatsWarnAndTheLastCounts) {
  const ParsedArgs a = parser().parse({"--max-num-seqs", "1", "--max-num-seqs", "2"});
  EXPECT_EQ(a.text("max-num-seqs"), "2");
  ASSERT_EQ(a.warnings.size(), 1u);
  EXPECT_EQ(a.warnings[0], "--max-num-seqs was given more than once; the last value counts: 2");
}

TEST(Args, GreedyListsTakeWordsUpToTheNextOption) {
  const ParsedArgs a = parser().parse({"M", "--served-model-name", "a", "b", "--max-num-seqs", "4"});
  EXPECT_EQ(a.list("served-model-name"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(a.positionals, std::vector<std::string>{"M"});
}

TEST(Args, NegativeNumbersAreValues) {
  EXPECT_EQ(parser().parse({"--max-model-len", "-1"}).human_integer("max-model-len", 0), -1);
  EXPECT_EQ(error_of({"--max-model-len", "--max-num-seqs"}),
            "--max-model-len expects a value | write --max-model-len VALUE or --max-model-len=VALUE");
}

TEST(Args, OptionalValue) {
  EXPECT_EQ(parser().parse({"--hf-token", "--max-num-seqs", "1"}).find("hf-token")->values.size(), 0u);
  EXPECT_EQ(parser().parse({"--hf-token", "abc"}).text("hf-token"), "abc");
}

TEST(Args, ShortAliases) {
  EXPECT_EQ(parser().parse({"-tp", "2"}).text("tensor-parallel-size"), "2");
  EXPECT_EQ(parser().parse({"-tp=2"}).text("tensor-parallel-size"), "2");
  EXPECT_EQ(parser().parse({"-O3"}).text("optimization-level"), "3");
  EXPECT_EQ(parser().parse({"-sc.method", "mtp"}).json("speculative-config").dump(), R"({"method":"mtp"})");
}

TEST(Args, JsonAndDottedFormsMerge) {
  const ParsedArgs a = parser().parse(
      {"--speculative-config", R"({"method":"mtp","deep":{"a":1}})", "--speculative-config.num_speculative_tokens", "2",
       "--speculative-config.deep.b=x", "--speculative-config.list+", "1", "--speculative-config.list+=2,three"});
  EXPECT_EQ(a.json("speculative-config").dump(),
            R"({"method":"mtp","deep":{"a":1,"b":"x"},"num_speculative_tokens":2,"list":[1,2,"three"]})");
  EXPECT_EQ(parser().parse({"--limit-mm-per-prompt", "image=4,video=0"}).json("limit-mm-per-prompt").dump(),
            R"({"image":4,"video":0})");
  EXPECT_NE(error_of({"--speculative-config", "[1]"}).find("expects a JSON object, got '[1]'"), std::string::npos);
  EXPECT_NE(error_of({"--max-num-seqs.x", "1"}).find("only JSON options"), std::string::npos);
}

TEST(Args, UnknownOptionsSuggest) {
  EXPECT_EQ(error_of({"--max-model-length", "1"}), "unknown option --max-model-length | did you mean --max-model-len?");
  EXPECT_EQ(error_of({"--definitely-unknown"}), "unknown option --definitely-unknown | --help lists the options");
  const ParsedArgs a = parser().parse({"M", "--nope", "3", "--max-num-seqs", "4"}, {.ignore_unknown = true});
  EXPECT_EQ(a.warnings, std::vector<std::string>{"unknown option --nope is ignored"});
  EXPECT_EQ(a.positionals, std::vector<std::string>{"M"});
  EXPECT_EQ(a.text("max-num-seqs"), "4");
}

TEST(Args, DoubleDashEndsOptions) {
  EXPECT_EQ(parser().parse({"--", "--max-num-seqs"}).positionals, std::vector<std::string>{"--max-num-seqs"});
}

TEST(Args, ConfigFileYieldsToTheCommandLine) {
  const std::string file = testing::TempDir() + "hearth_args_test.yaml";
  std::ofstream(file)
      << "model: from-file\nmax_model_len: 4096\nmax-num-seqs: 7\ntrust-remote-code: true\n"
         "enable-prefix-caching: false\nserved-model-name: [a, b]\nlimit-mm-per-prompt: {image: 4, video: 0}\n";
  const std::vector<std::string> words = config_words(file);
  const ParsedArgs a = parser().parse({"--max-num-seqs", "9", "--limit-mm-per-prompt.video", "2"}, {}, words);
  EXPECT_EQ(a.positionals, std::vector<std::string>{"from-file"});
  EXPECT_EQ(a.text("max-model-len"), "4096");
  EXPECT_EQ(a.text("max-num-seqs"), "9");
  EXPECT_TRUE(a.on("trust-remote-code"));
  EXPECT_FALSE(a.on("enable-prefix-caching", true));
  EXPECT_EQ(a.list("served-model-name"), (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(a.json("limit-mm-per-prompt").dump(), R"({"image":4,"video":2})");
  EXPECT_TRUE(a.warnings.empty());
  EXPECT_EQ(parser().parse({"mine"}, {}, words).positionals, std::vector<std::string>{"mine"});
  std::remove(file.c_str());
}

TEST(Args, ConfigFileErrors) {
  EXPECT_THROW(config_words("/nowhere/x.yaml"), StartupError);
  const std::string file = testing::TempDir() + "hearth_args_bad.yaml";
  for (const char* text : {"a: [1,", "- 1\n- 2\n", "config: other.yaml\n"}) {
    std::ofstream(file) << text;
    EXPECT_THROW(config_words(file), StartupError) << text;
  }
  std::remove(file.c_str());
}

TEST(Args, HumanIntegers) {
  EXPECT_EQ(parse_human_integer("8192"), 8192);
  EXPECT_EQ(parse_human_integer("25.6k"), 25600);
  EXPECT_EQ(parse_human_integer("4K"), 4096);
  EXPECT_EQ(parse_human_integer("2m"), 2000000);
  EXPECT_EQ(parse_human_integer("1G"), 1073741824);
  EXPECT_EQ(parse_human_integer("-1"), -1);
  for (const char* bad : {"", "1.5K", "k", "12x", "1e3k4", "99999999999T"})
    EXPECT_FALSE(parse_human_integer(bad)) << bad;
}

TEST(Args, Sizes) {
  EXPECT_EQ(parse_size("64GiB"), 64ll << 30);
  EXPECT_EQ(parse_size("64G"), 64ll << 30);
  EXPECT_EQ(parse_size("64GB"), 64000000000ll);
  EXPECT_EQ(parse_size("1.5 GiB"), 1610612736ll);
  EXPECT_EQ(parse_size("1000"), 1000);
  for (const char* bad : {"", "GiB", "1Q", "1GiBs", "-1G"}) EXPECT_FALSE(parse_size(bad)) << bad;
}

TEST(Args, EditDistance) {
  EXPECT_EQ(edit_distance("abc", "abc"), 0);
  EXPECT_EQ(edit_distance("abc", "acb"), 1);
  EXPECT_EQ(edit_distance("abc", "ab"), 1);
  EXPECT_EQ(edit_distance("", "abc"), 3);
}

TEST(Args, ReadersSayWhatWasExpected) {
  const ParsedArgs a = parser().parse({"--max-num-seqs", "many"});
  try {
    (void)a.integer("max-num-seqs", 1, 1, 8);
    FAIL();
  } catch (const StartupError& e) {
    EXPECT_STREQ(e.what(), "--max-num-seqs: 'many' is not a whole number from 1 to 8");
  }
}

}  // namespace
}  // namespace hearth
