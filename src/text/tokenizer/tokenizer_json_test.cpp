// tokenizer.json and GGUF vocabularies small enough to check by hand; broken ones; text with provenance.
#include <gtest/gtest.h>

#include <thread>

#include "base/status.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace hearth {
namespace {

using Ids = std::vector<std::int32_t>;

// Byte-level: letters a–e, space, "ab", "abc", " a"; added <s> (special) and <t>.
constexpr const char* kByteLevel = R"({
  "added_tokens": [
    {"id": 20, "content": "<s>", "special": true, "normalized": false},
    {"id": 21, "content": "<t>", "special": false, "normalized": false}],
  "normalizer": null,
  "pre_tokenizer": {"type": "ByteLevel", "add_prefix_space": false, "use_regex": true},
  "post_processor": {"type": "TemplateProcessing",
    "single": [{"SpecialToken": {"id": "<s>", "type_id": 0}}, {"Sequence": {"id": "A", "type_id": 0}}],
    "special_tokens": {"<s>": {"id": "<s>", "ids": [20], "tokens": ["<s>"]}}},
  "decoder": {"type": "ByteLevel"},
  "model": {"type": "BPE",
    "vocab": {"a": 0, "b": 1, "c": 2, "d": 3, "e": 4, "Ġ": 5, "ab": 6, "abc": 7, "Ġa": 8, "<": 9, ">": 10, "s": 11, "t": 12},
    "merges": ["a b", ["ab", "c"], "Ġ a"]}})";

std::unique_ptr<Tokenizer> make(std::string_view json, std::string_view config = "") {
  return make_tokenizer(json, config, "m");
}

// The text with one piece replaced.
std::string with(std::string json, std::string_view from, std::string_view to) {
  const std::size_t at = json.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return json.replace(at, from.size(), to);
}

TEST(TokenizerJson, MergesByRank) {
  const auto t = make(kByteLevel);
  EXPECT_EQ(t->encode("abc ab aabb", Tokenizer::Options{}),
            (Ids{7, 5, 6, 8, 6, 1}));                            // " ab": a b merges before the space does
  EXPECT_EQ(t->encode("xaxb", Tokenizer::Options{}), (Ids{6}));  // without unk, bytes that are no token vanish first
  EXPECT_EQ(t->vocab_size(), 22);
  EXPECT_EQ(t->spelling(8), "Ġa");
  EXPECT_EQ(t->bytes(8), " a");
  EXPECT_EQ(t->id_of("Ġa"), 8);
  EXPECT_FALSE(t->id_of(" a"));
  EXPECT_EQ(t->bytes(15), "");
  EXPECT_EQ(t->bytes(-1), "");
  EXPECT_EQ(t->bytes(1 << 30), "");
}

TEST(TokenizerJson, SpecialTokensAndEnds) {
  const auto t = make(kByteLevel);
  EXPECT_EQ(t->encode("a<s><t>", {.add_special = true}), (Ids{20, 0, 20, 21}));
  EXPECT_EQ(t->encode("a<s><t>", {.parse_special = false}), (Ids{0, 9, 11, 10, 21}));
  EXPECT_EQ(t->decode(Ids{20, 0, 21}, true), "a<t>");
  EXPECT_EQ(t->decode(Ids{20, 0, 21}, false), "<s>a<t>");
  EXPECT_EQ(t->encode("a", {.add_special = true}), (Ids{20, 0}));
  const auto off =
      make(kByteLevel,
           R"({"bos_token": {"content": "<s>"}, "eos_token": "<t>", "add_bos_token": false, "add_eos_token": true})");
  EXPECT_EQ(off->encode("a", {.add_special = true}), (Ids{0, 21}));
  EXPECT_EQ(off->bos_id(), 20);
  EXPECT_EQ(off->eos_id(), 21);
}

TEST(TokenizerJson, ConfigAddsTokens) {
  const auto t = make(kByteLevel, R"({"added_tokens_decoder": {
      "22": {"content": "<u>", "special": true}, "21": {"content": "<t>", "special": true}, "0": {"content": "<other>"}}})");
  EXPECT_EQ(t->id_of("<u>"), 22);
  EXPECT_TRUE(t->is_special(21));
  EXPECT_FALSE(t->id_of("<other>"));  // 0 is "a": the entry contradicts the file and is left out
}

TEST(TokenizerJson, RequestTextHoldsNoSpecialTokens) {
  const auto t = make(kByteLevel);
  const auto encode = [&](std::string text, std::vector<MarkedText::Span> spans) {
    return t->encode(MarkedText{std::move(text), std::move(spans)}, false);
  };
  EXPECT_EQ(encode("<s>a<s>", {{3, 4}}), (Ids{20, 0, 20}));
  EXPECT_EQ(encode("<s><s><s>", {{3, 6}}), (Ids{20, 9, 11, 10, 20}));
  EXPECT_EQ(encode("<s><t>", {{0, 1}}), (Ids{9, 11, 10, 21}));
  EXPECT_EQ(encode("<s><t>", {{5, 6}}), (Ids{20, 9, 12, 10}));
  EXPECT_EQ(encode("<s>", {{0, 99}}), (Ids{9, 11, 10}));
  // Pieces form across the border.
  EXPECT_EQ(encode("abc", {{1, 2}}), (Ids{7}));
  EXPECT_EQ(encode(" a", {{1, 2}}), (Ids{8}));
}

TEST(TokenizerJson, RequestTextAndNormalizedTokens) {
  // The token is looked for in the normalised text; a mark from the request joins the template's letter.
  std::string json = with(kByteLevel, R"("normalizer": null)", R"("normalizer": {"type": "NFC"})");
  json = with(json, R"("content": "<t>", "special": false, "normalized": false)",
              R"("content": "<t>", "special": false, "normalized": true)");
  const auto t = make(json);
  EXPECT_EQ(t->encode(MarkedText{"e\u0301<t>", {{1, 3}}}, false), (Ids{21}));
  EXPECT_EQ(t->encode(MarkedText{"<t>\u0301<t>", {{3, 8}}}, false),
            (Ids{21, 9, 12, 10}));  // a mark that joins nothing hides nothing
  EXPECT_EQ(t->encode(MarkedText{"<t><t>", {{3, 6}}}, false), (Ids{21, 9, 12, 10}));
}

TEST(TokenizerJson, BrokenUtf8IsReplaced) {
  const auto t = make(kByteLevel);
  EXPECT_EQ(t->encode("a\xff\xe4\xbd"
                      "b",
                      Tokenizer::Options{}),
            (Ids{0, 1}));
  EXPECT_EQ(t->encode(MarkedText{"\xff<s>\xff<s>", {{4, 8}}}, false), (Ids{20, 9, 11, 10}));
}

TEST(TokenizerJson, IgnoreMergesTakesWholePieces) {
  const std::string json = with(kByteLevel, R"("type": "BPE",)", R"("type": "BPE", "ignore_merges": true,)");
  const std::string other = with(json, R"("merges": ["a b", ["ab", "c"], "Ġ a"])", R"("merges": ["a b"])");
  EXPECT_EQ(make(other)->encode("abc", Tokenizer::Options{}), (Ids{7}));
  EXPECT_EQ(make(with(kByteLevel, R"("merges": ["a b", ["ab", "c"], "Ġ a"])", R"("merges": ["a b"])"))
                ->encode("abc", Tokenizer::Options{}),
            (Ids{6, 2}));
}

// As Llama 2's file: characters, "▁" for spaces, bytes for the rest.
constexpr const char* kSentencePiece = R"({
  "added_tokens": [{"id": 0, "content": "<unk>", "special": true, "normalized": false}, {"id": 1, "content": "<s>", "special": true, "normalized": false}],
  "normalizer": {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "▁"}, {"type": "Replace", "pattern": {"String": " "}, "content": "▁"}]},
  "pre_tokenizer": null,
  "post_processor": null,
  "decoder": {"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "▁"}, "content": " "}, {"type": "ByteFallback"},
     {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]},
  "model": {"type": "BPE", "unk_token": "<unk>", "fuse_unk": true, "byte_fallback": true,
    "vocab": {"<unk>": 0, "<s>": 1, "<0xC3>": 2, "<0xA9>": 3, "▁": 4, "a": 5, "▁a": 6, "b": 7},
    "merges": ["▁ a"]}})";

TEST(TokenizerJson, SentencePieceForm) {
  const auto t = make(kSentencePiece);
  EXPECT_EQ(t->encode("a ba", Tokenizer::Options{}), (Ids{6, 4, 7, 5}));
  EXPECT_EQ(t->encode("a<s>a", Tokenizer::Options{}), (Ids{6, 1, 6}));
  EXPECT_EQ(t->encode("\u00e9", Tokenizer::Options{}), (Ids{4, 2, 3}));
  EXPECT_EQ(t->encode("xyza", Tokenizer::Options{}), (Ids{4, 0, 5}));  // unknown ones are fused
  EXPECT_EQ(t->decode(Ids{6, 4, 2, 3}, false), "a \u00e9");
  EXPECT_EQ(t->leading_strip(), " ");
  Detokenizer whole(*t, true, true), reply(*t, true);
  EXPECT_EQ(whole.push(1), "");
  EXPECT_EQ(whole.push(6), "a");
  EXPECT_EQ(whole.push(6), " a");
  EXPECT_EQ(reply.push(6), " a");
  EXPECT_EQ(reply.push(2), "");
  EXPECT_EQ(reply.push(3), "\u00e9");
  EXPECT_EQ(reply.push(2), "");
  EXPECT_EQ(reply.push(7),
            "\uFFFD"
            "b");
  EXPECT_EQ(reply.push(2), "");
  EXPECT_EQ(reply.finish(), "\uFFFD");
}

struct Broken {
  const char* from;
  const char* to;
  const char* expected;  // in the message
};

TEST(TokenizerJson, BrokenFilesSayWhat) {
  const Broken cases[] = {
      {R"("type": "BPE")", R"("type": "Unigram")", "Unigram"},
      {R"({"type": "ByteLevel"},
  "model")",
       R"({"type": "CTC"},
  "model")",
       "CTC"},
      {R"("normalizer": null)", R"("normalizer": {"type": "Precompiled"})", "normalizer.type"},
      {R"("normalizer": null)", R"("normalizer": {"type": "Replace", "pattern": {"Regex": "("}, "content": ""})",
       "normalizer.pattern.Regex"},
      {R"({"type": "ByteLevel", "add_prefix_space": false, "use_regex": true})", R"({"type": "UnicodeScripts"})",
       "UnicodeScripts"},
      {R"("type": "TemplateProcessing")", R"("type": "Nonsense")", "post_processor.type"},
      {R"("ids": [20])", R"("ids": [19])", "19"},
      {R"("a": 0)", R"("a": -1)", "-1"},
      {R"("a": 0)", R"("a": 4000000000)", "4000000000"},
      {R"("a": 0)", R"("a": 99999999999999999999)", "model.vocab"},
      {R"("a": 0)", R"("a": "0")", "no integer"},
      {R"("a": 0)", R"("a": {"b": 0})", "no integer"},
      {R"("id": 20, "content": "<s>")", R"("id": 0, "content": "<s>")", "which is \"a\""},
      {R"("id": 20, "content")", R"("id": 2000000000, "content")", "2000000000"},
      {R"("a b")", R"("a z")", "\"z\""},
      {R"("a b")", R"("a b c")", "entry 0"},
      {R"("a b")", R"(7)", "entry 0"},
      {R"(["ab", "c"])", R"(["ab"])", "entry 1"},
      {R"(["ab", "c"])", R"(["ab", "c", "d"])", "entry 1"},
      {R"("merges")", R"("mergers")", "merges"},
      {R"("vocab")", R"("vocabulary")", "vocab"},
      {R"("model")", R"("mode")", "model"},
      {R"("use_regex": true)", R"("use_regex": "yes")", "use_regex"},
      {R"("model": {)", R"("model": [)", "not valid JSON"},
  };
  for (const Broken& b : cases) {
    try {
      make(with(kByteLevel, b.from, b.to));
      ADD_FAILURE() << "accepted: " << b.to;
    } catch (const StartupError& e) {
      EXPECT_NE(std::string(e.what()).find(b.expected), std::string::npos) << b.to << ": " << e.what();
      EXPECT_EQ(e.where(), "m/tokenizer.json");
      EXPECT_FALSE(e.hint().empty());
    }
  }
  EXPECT_THROW(make(""), StartupError);
  EXPECT_THROW(make("[]"), StartupError);
  EXPECT_THROW(make("{}"), StartupError);
  EXPECT_THROW(make(std::string(100000, '[')), StartupError);
  EXPECT_THROW(make(kByteLevel, "{"), StartupError);
  EXPECT_THROW(make(kByteLevel, "[]"), StartupError);
  EXPECT_THROW(make(kByteLevel, R"({"added_tokens_decoder": {"x": {"content": "y"}}})"), StartupError);
  EXPECT_THROW(load_tokenizer("/nonexistent"), StartupError);
}

// Every prefix of a good file, and every file with one byte changed, is either read or refused in words.
TEST(TokenizerJson, NoFileCrashes) {
  const std::string json = kByteLevel;
  for (std::size_t n = 0; n < json.size(); ++n) EXPECT_THROW(make(json.substr(0, n)), StartupError);
  for (std::size_t i = 0; i < json.size(); ++i)
    for (const char c : {'"', '{', ']', '0', '\\'}) {
      std::string changed = json;
      changed[i] = c;
      try {
        make(changed)->encode("abc <s>", Tokenizer::Options{});
      } catch (const StartupError&) {
      }
    }
}

GgufVocab small_gpt2() {
  GgufVocab v;
  v.model = "gpt2";
  v.pre = "qwen2";
  v.tokens = {"a", "b", "ab", "Ġ", "<s>", "<t>", "[PAD6]"};
  v.types = {1, 1, 1, 1, 3, 4, 5};
  v.merges = {"a b", "missing one"};
  v.bos = 4;
  v.eos = 4;
  return v;
}

TEST(TokenizerGguf, ByteLevel) {
  const auto t = make_tokenizer(small_gpt2());
  EXPECT_EQ(t->encode("ab<s><t> a", {.add_special = true}), (Ids{2, 4, 5, 3, 0}));
  EXPECT_EQ(t->encode("<s><t>", {.parse_special = false}), (Ids{5}));
  EXPECT_TRUE(t->is_special(4));
  EXPECT_FALSE(t->is_special(5));
  EXPECT_EQ(t->vocab_size(), 6);
  EXPECT_EQ(t->bytes(6), "");
  GgufVocab v = small_gpt2();
  v.add_bos = true;
  EXPECT_EQ(make_tokenizer(v)->encode("a", {.add_special = true}), (Ids{4, 0}));
}

GgufVocab small_llama() {
  GgufVocab v;
  v.model = "llama";
  v.tokens = {"<unk>", "<s>", "</s>", "<0xC3>", "<0xA9>", "▁", "a", "▁a", "aa", "<", "s", ">"};
  v.types = {2, 3, 3, 6, 6, 1, 1, 1, 1, 1, 1, 1};
  v.scores = {0, 0, 0, 0, 0, -10, -11, -2, -1, -12, -13, -14};
  return v;
}

TEST(TokenizerGguf, SentencePiece) {
  const auto t = make_tokenizer(small_llama());
  EXPECT_EQ(t->encode("aa a", {.add_special = true}), (Ids{1, 5, 8, 7}));  // "aa" scores above "▁a"
  EXPECT_EQ(t->encode("\u00e9<s>a", Tokenizer::Options{}), (Ids{5, 3, 4, 1, 7}));
  EXPECT_EQ(t->encode("<s>", {.parse_special = false}), (Ids{5, 9, 10, 11}));
  EXPECT_EQ(t->encode("z", Tokenizer::Options{}), (Ids{5, 0}));
  EXPECT_EQ(t->decode(Ids{1, 5, 8, 7}, true), "aa a");
  EXPECT_EQ(t->eos_id(), 2);
  GgufVocab bare = small_llama();
  bare.add_space_prefix = false;
  bare.add_bos = false;
  EXPECT_EQ(make_tokenizer(bare)->encode("a", {.add_special = true}), (Ids{6}));
}

TEST(TokenizerGguf, BrokenVocabulariesSayWhat) {
  const auto message = [](const GgufVocab& v) {
    try {
      make_tokenizer(v);
    } catch (const StartupError& e) {
      return std::string(e.what()) + " | " + e.where();
    }
    return std::string("accepted");
  };
  GgufVocab v = small_gpt2();
  v.pre = "nonsense";
  EXPECT_NE(message(v).find("known are llama-bpe"), std::string::npos) << message(v);
  v = small_gpt2();
  v.model = "t5";
  EXPECT_NE(message(v).find("tokenizer.ggml.model"), std::string::npos) << message(v);
  v = small_gpt2();
  v.types.pop_back();
  EXPECT_NE(message(v).find("6 types for 7 tokens"), std::string::npos) << message(v);
  v = small_gpt2();
  v.merges.clear();
  EXPECT_NE(message(v).find("tokenizer.ggml.merges"), std::string::npos) << message(v);
  v = small_gpt2();
  v.eos = 7;
  EXPECT_NE(message(v).find("tokenizer.ggml.eos_token_id"), std::string::npos) << message(v);
  v = small_gpt2();
  v.tokens.clear();
  EXPECT_NE(message(v).find("tokenizer.ggml.tokens"), std::string::npos) << message(v);
  v = small_llama();
  v.scores[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(message(v).find("token 3"), std::string::npos) << message(v);
  v.scores.clear();
  EXPECT_NE(message(v).find("0 scores"), std::string::npos) << message(v);
}

TEST(Tokenizer, ManyThreads) {
  const auto t = make(kByteLevel);
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "abc <s>a b<t>";
  const Ids want = t->encode(text, Tokenizer::Options{});
  std::vector<std::thread> threads;
  std::vector<int> same(4);
  for (std::size_t k = 0; k < same.size(); ++k)
    threads.emplace_back([&, k] {
      for (int i = 0; i < 5; ++i) same[k] += t->encode(text, Tokenizer::Options{}) == want;
    });
  for (std::thread& thread : threads) thread.join();
  for (const int n : same) EXPECT_EQ(n, 5);
}

}  // namespace
}  // namespace hearth
