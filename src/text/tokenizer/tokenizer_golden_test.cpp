// The tokenizers of the tiny checkpoints and the full Qwen3.5 vocabulary against Hugging Face's.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <sstream>

#include "base/json.h"
#include "text/detokenizer.h"
#include "text/testing/models_dir.h"
#include "text/tokenizer.h"

namespace hearth {
namespace {

using Ids = std::vector<std::int32_t>;

Json read_golden(const std::string& name) {
  std::ifstream in(std::string(HEARTH_GOLDEN) + "/" + name);
  EXPECT_TRUE(in) << name;
  std::stringstream text;
  text << in.rdbuf();
  Result<Json> json = parse_json(text.str());
  EXPECT_TRUE(json.ok()) << name;
  return *std::move(json);
}

std::string streamed(const Tokenizer& t, const Ids& ids, bool skip_special) {
  Detokenizer detokenizer(t, skip_special);
  std::string out;
  for (const std::int32_t id : ids) out += detokenizer.push(id);
  return out + detokenizer.finish();
}

class TinyTokenizer : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(TinyTokenizer, PromptsAndReplies) {
  const auto [dir, goldens] = GetParam();
  const auto t = load_tokenizer(std::string(HEARTH_GOLDEN) + "/" + dir);
  EXPECT_EQ(t->vocab_size(), 1057);
  EXPECT_EQ(t->eos_id(), 1026);
  EXPECT_EQ(t->pad_id(), 1024);
  EXPECT_FALSE(t->bos_id());
  EXPECT_EQ(t->id_of("<think>"), 1048);
  EXPECT_TRUE(t->is_special(1025));
  EXPECT_TRUE(t->is_added(1048));
  EXPECT_FALSE(t->is_special(1048));
  EXPECT_EQ(t->bytes(1060), "");

  int count = 0;
  const Json values = read_golden(std::string(goldens) + "/goldens.json");
  for (const auto& [name, prompt] : values.at("prompts").items()) {
    const Ids ids = prompt.at("ids"), greedy = prompt.value("greedy", Ids());
    EXPECT_EQ(t->decode(ids, false), prompt.at("text").get<std::string>()) << name;
    if (name != "random_96") {
      EXPECT_EQ(t->encode(prompt.at("text").get<std::string>(), Tokenizer::Options{}), ids) << name;
      EXPECT_EQ(t->decode(greedy, false), prompt.at("greedy_text").get<std::string>()) << name;
    }
    ++count;
  }
  EXPECT_GE(count, 10);
  const Json replies = read_golden(std::string(goldens) + "/chat_replies.json");
  EXPECT_EQ(replies.size(), 25u);
  for (const Json& reply : replies) {
    const Ids prompt_ids = reply.at("prompt_ids"), reply_ids = reply.at("reply_ids");
    EXPECT_EQ(t->encode(reply.at("prompt").get<std::string>(), {.add_special = true}), prompt_ids);
    EXPECT_EQ(t->decode(reply_ids, false), reply.at("reply").get<std::string>());
    EXPECT_EQ(streamed(*t, reply_ids, false), reply.at("reply").get<std::string>());
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, TinyTokenizer,
                         ::testing::Values(std::pair{"qwen3_5_moe_tiny/bf16", "qwen3_5_moe_tiny/goldens_bf16"},
                                           std::pair{"qwen3_5_moe_tiny/fp8", "qwen3_5_moe_tiny/goldens_fp8"},
                                           std::pair{"qwen3_5_dense_tiny", "qwen3_5_dense_tiny/goldens"}));

class FullQwen35 : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    const auto dir = testing::models_dir() / "qwen3_5_tokenizer";
    if (std::filesystem::exists(dir / "tokenizer.json")) tokenizer = load_tokenizer(dir.string());
  }
  static void TearDownTestSuite() { tokenizer.reset(); }
  void SetUp() override {
    if (!tokenizer)
      GTEST_SKIP() << "no " << (testing::models_dir() / "qwen3_5_tokenizer/tokenizer.json").string()
                   << "; tools/make_qwen35_tokenizer.py makes it";
  }
  inline static std::unique_ptr<Tokenizer> tokenizer;
};

TEST_F(FullQwen35, EncodesAndDecodesEveryCase) {
  const Json golden = read_golden("tokenizer/tokenizer_cases.json");
  int count = 0;
  for (const Json& c : golden.at("encode")) {
    std::string text;
    if (c.contains("repeat")) {
      for (int n = c.at("repeat")[1].get<int>(); n > 0; --n) text += c.at("repeat")[0].get<std::string>();
    } else {
      text = c.at("text");
    }
    const Ids ids = c.at("ids");
    ASSERT_EQ(tokenizer->encode(text, {.add_special = true}), ids) << c.at("group") << ": " << text;
    if (!c.contains("repeat")) {
      const std::string decoded = c.value("decoded", text);
      EXPECT_EQ(tokenizer->decode(ids, false), decoded);
      EXPECT_EQ(tokenizer->decode(ids, true), c.value("decoded_skip_special", decoded));
      EXPECT_EQ(streamed(*tokenizer, ids, false), decoded);
      EXPECT_EQ(streamed(*tokenizer, ids, true), c.value("decoded_skip_special", decoded));
    }
    ++count;
  }
  EXPECT_EQ(count, 373);
}

TEST_F(FullQwen35, StreamsEveryCase) {
  int count = 0;
  const Json golden = read_golden("tokenizer/tokenizer_cases.json");
  for (const Json& c : golden.at("decode")) {
    const Ids ids = c.at("ids");
    const std::vector<std::string> stream = c.at("stream");
    std::string bytes;
    for (const std::int32_t id : ids) bytes += tokenizer->bytes(id);
    std::string hex;
    for (const char b : bytes) hex += fmt::format("{:02x}", static_cast<unsigned char>(b));
    EXPECT_EQ(hex, c.at("bytes"));
    EXPECT_EQ(tokenizer->decode(ids, false), c.at("decoded").get<std::string>());
    Detokenizer detokenizer(*tokenizer, false);
    for (std::size_t i = 0; i < ids.size(); ++i)
      EXPECT_EQ(detokenizer.push(ids[i]), stream[i]) << c.at("bytes") << " at " << i;
    EXPECT_EQ(detokenizer.finish(), c.at("stream_end").get<std::string>());
    ++count;
  }
  EXPECT_EQ(count, 34);
}

TEST_F(FullQwen35, AddedTokensAsListed) {
  const Json golden = read_golden("tokenizer/tokenizer_cases.json");
  for (const Json& a : golden.at("vocabulary").at("added")) {
    const std::int32_t id = a.at("id");
    EXPECT_EQ(tokenizer->id_of(a.at("text").get<std::string>()), id);
    EXPECT_EQ(tokenizer->spelling(id), a.at("text").get<std::string>());
    EXPECT_EQ(tokenizer->is_special(id), a.at("special").get<bool>());
  }
  EXPECT_EQ(tokenizer->vocab_size(), 248077);
}

TEST_F(FullQwen35, RealTexts) {
  const Json golden = read_golden("real_models/tokens.json");
  for (const auto& [name, ids] : golden.at("vocab").at("qwen3.5").at("ids").items()) {
    const std::string text = golden.at("texts").at(name);
    EXPECT_EQ(tokenizer->encode(text, {.add_special = true}), ids[0].get<Ids>()) << name;
    // This vocabulary's "plain" lists know no added token at all: what text of a request becomes.
    const Ids plain = ids[1].is_null() ? ids[0].get<Ids>() : ids[1].get<Ids>();
    EXPECT_EQ(tokenizer->encode(MarkedText{text, {{0, text.size()}}}, true), plain) << name;
  }
}

}  // namespace
}  // namespace hearth
