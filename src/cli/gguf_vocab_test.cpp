// Tokenizers of real GGUF files against llama.cpp and Hugging Face; skipped where the files are not at hand.
#include "cli/gguf_vocab.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/json.h"
#include "text/detokenizer.h"
#include "text/testing/models_dir.h"

namespace hearth {
namespace {

using Ids = std::vector<std::int32_t>;

struct Case {
  const char* vocabulary;  // in tokens.json
  const char* file;
  bool end_tag_is_text = false;  // llama.cpp takes Qwen2's ordinary token "</s>" for a special one: use "plain"
  std::vector<std::string> not_listed{};  // texts where Hugging Face differs and has no list
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.vocabulary; }

class GgufVocabGolden : public ::testing::TestWithParam<Case> {};

Json read_tokens() {
  std::ifstream in(std::string(HEARTH_GOLDEN) + "/real_models/tokens.json");
  std::stringstream text;
  text << in.rdbuf();
  Result<Json> json = parse_json(text.str());
  EXPECT_TRUE(json.ok());
  return *std::move(json);
}

TEST_P(GgufVocabGolden, AllTexts) {
  const Case& c = GetParam();
  const auto path = testing::models_dir() / c.file;
  if (!std::filesystem::exists(path))
    GTEST_SKIP() << "no " << path.string() << "; vocabularies are in vendor/llama.cpp/models of the source package "
                 << "llama-cpp-python 0.3.36";
  const auto tokenizer = make_tokenizer(read_gguf_vocab(GgufFile(path.string())));
  const Json golden = read_tokens();
  const Json& lists = golden.at("vocab").at(c.vocabulary);
  int count = 0;
  for (const auto& [name, text] : golden.at("texts").items()) {
    ++count;
    if (std::find(c.not_listed.begin(), c.not_listed.end(), name) != c.not_listed.end()) continue;
    const std::string s = text;
    const Json& pair = lists.at("ids").at(name);
    Ids whole = pair[0].get<Ids>(), plain = pair[1].is_null() ? whole : pair[1].get<Ids>();
    if (c.end_tag_is_text && name == "bos_eos_literal") whole = plain;
    if (lists.contains("hf_plain_where_different") && lists.at("hf_plain_where_different").contains(name))
      whole = plain = lists.at("hf_plain_where_different").at(name).get<Ids>();
    EXPECT_EQ(tokenizer->encode(s, {.add_special = true}), whole) << name;
    EXPECT_EQ(tokenizer->encode(s, {.parse_special = false}), plain) << name;
    // Back to the text, but for normalisation.
    if (name != "combining_marks") {
      EXPECT_EQ(tokenizer->decode(plain, false), s) << name;
      Detokenizer detokenizer(*tokenizer, false, true);
      std::string streamed;
      for (const std::int32_t id : plain) streamed += detokenizer.push(id);
      EXPECT_EQ(streamed + detokenizer.finish(), s) << name;
    }
  }
  EXPECT_EQ(count, 27);
}

INSTANTIATE_TEST_SUITE_P(
    Real, GgufVocabGolden,
    ::testing::Values(Case{"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf"},
                      Case{"qwen2.5-coder", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf", true},
                      Case{"vocab-llama-bpe", "ggml-vocab-llama-bpe.gguf"},
                      Case{"vocab-llama-spm", "ggml-vocab-llama-spm.gguf"},
                      Case{"vocab-gpt-2", "ggml-vocab-gpt-2.gguf"},
                      Case{"vocab-qwen35pre", "ggml-vocab-qwen35.gguf", true, {"combining_marks"}}));

}  // namespace
}  // namespace hearth
