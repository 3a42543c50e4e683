// The stages one by one: added tokens, normalisers, pre-tokenisers, merging.
#include <gtest/gtest.h>

#include <chrono>

#include "base/rng.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/gguf_pre_tokenizers.h"
#include "text/tokenizer/merge.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/utf8.h"

namespace hearth {
namespace {

using Strings = std::vector<std::string>;

// "a[7:b]c": text and tokens with their ids.
std::string show(const AddedTokens& tokens, const std::string& text, const std::string& marks = "",
                 bool special = true) {
  std::string out;
  for (const Stretch& s : tokens.split(text, marks, special)) {
    const std::string part = text.substr(s.begin, s.end - s.begin);
    out += s.id < 0 ? part : "[" + std::to_string(s.id) + ":" + part + "]";
  }
  return out;
}

AddedTokens make(std::vector<AddedToken> list) {
  AddedTokens tokens;
  for (const AddedToken& t : list) tokens.insert(t.content, t);
  return tokens;
}

TEST(AddedTokens, LeftmostThenLongest) {
  const AddedTokens t =
      make({{.content = "<a>", .id = 1}, {.content = "<a>b", .id = 2}, {.content = "a>bcd", .id = 3}});
  EXPECT_EQ(show(t, "x<a>bcd"), "x[2:<a>b]cd");
  EXPECT_EQ(show(t, "<a><a"), "[1:<a>]<a");
  EXPECT_EQ(show(t, "a>bc<a>"), "a>bc[1:<a>]");
  EXPECT_EQ(show(t, ""), "");
}

TEST(AddedTokens, SpecialOnesAreTextWhenAskedFor) {
  const AddedTokens t = make({{.content = "<s>", .id = 1, .special = true}, {.content = "<u>", .id = 2}});
  EXPECT_EQ(show(t, "<s><u>", "", false), "<s>[2:<u>]");
}

TEST(AddedTokens, MarkedTextHoldsNone) {
  const AddedTokens t = make({{.content = "<s>", .id = 1}, {.content = "<s>x", .id = 2}, {.content = "  ", .id = 3}});
  EXPECT_EQ(show(t, "<s><s>", std::string("\0\0\0\1\1\1", 6)), "[1:<s>]<s>");
  EXPECT_EQ(show(t, "<s><s>", std::string("\0\0\1\0\0\0", 6)), "<s>[1:<s>]");  // one byte is enough
  EXPECT_EQ(show(t, "<s>x", std::string("\0\0\0\1", 4)), "[1:<s>]x");          // the shorter one fits
  EXPECT_EQ(show(t, "a  b", std::string("\1\1\1\1", 4)), "a[3:  ]b");          // white space is what it is
}

TEST(AddedTokens, WordsAndSpaces) {
  const AddedTokens t = make({{.content = "cat", .id = 1, .single_word = true},
                              {.content = "<m>", .id = 2, .lstrip = true},
                              {.content = "<r>", .id = 3, .rstrip = true}});
  EXPECT_EQ(show(t, "cat concat cats cat"), "[1:cat] concat cats [1:cat]");
  EXPECT_EQ(show(t, "\u00e9cat (cat)"), "\u00e9cat ([1:cat])");
  EXPECT_EQ(show(t, "a \u3000<m> b"), "a[2: \u3000<m>] b");
  EXPECT_EQ(show(t, "a <r> \n b"), "a [3:<r> \n ]b");
  EXPECT_EQ(show(t, "<r>  <m>"), "[3:<r>  ][2:<m>]");
}

std::string normal(std::unique_ptr<NormalizerStep> step, std::string text, std::string* marks = nullptr) {
  NormalText t{std::move(text), marks ? *marks : std::string()};
  step->apply(t);
  if (marks) *marks = t.marks;
  return t.text;
}

TEST(Normalizer, UnicodeForms) {
  EXPECT_EQ(
      normal(make_unicode_form({true, false}), "e\u0301 \u1e9b\u0323 \u212b \u1112\u1161\u11ab \uac00\u11a8 \u0344"),
      "\u00e9 \u1e9b\u0323 \u00c5 \ud55c \uac01 \u0308\u0301");
  EXPECT_EQ(normal(make_unicode_form({false, false}), "\u00e9\ud55c"), "e\u0301\u1112\u1161\u11ab");
  EXPECT_EQ(normal(make_unicode_form({true, true}), "\ufb01 \u2460 \u00b5"), "fi 1 \u03bc");
  EXPECT_EQ(normal(make_unicode_form({false, true}), "\uff21\u00e9"), "Ae\u0301");
  // Unicode 14's mark U+0898 blocks composition, as in Unicode 9's tables.
  EXPECT_EQ(normal(make_unicode_form({true, false}), "a\u0899\u0301"), "a\u0899\u0301");
}

TEST(Normalizer, AMillionMarksEnd) {
  std::string text = "a";
  for (int i = 0; i < 300000; ++i) text += i % 2 ? "\u0316" : "\u0301";
  const auto start = std::chrono::steady_clock::now();
  const std::string out = normal(make_unicode_form({true, false}), text);
  EXPECT_EQ(out.substr(0, 4), "\u00e1\u0316");  // à́ composes over the marks below it
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

TEST(Normalizer, MarksFollowTheirText) {
  std::string marks("\0\1\1", 3);
  EXPECT_EQ(normal(make_unicode_form({true, false}), "e\u0301", &marks), "\u00e9");
  EXPECT_EQ(marks, std::string("\1\1", 2));
  marks = std::string("\0\1\0", 3);
  EXPECT_EQ(normal(make_replace(" ", "__"), "a b", &marks), "a__b");
  EXPECT_EQ(marks, std::string("\0\1\1\0", 4));
  marks = std::string("\1", 1);
  EXPECT_EQ(normal(make_prepend(">"), "a", &marks), ">a");
  EXPECT_EQ(marks, std::string("\0\1", 2));
  marks = std::string("\0\0\1", 3);
  EXPECT_EQ(normal(make_strip(true, true), "  a", &marks), "a");
  EXPECT_EQ(marks, std::string("\1", 1));
}

TEST(Normalizer, ReplacePrependStrip) {
  EXPECT_EQ(normal(make_replace(Regex(" {2,}"), "_"), "a  b c    "), "a_b c_");
  EXPECT_EQ(normal(make_replace(Regex("x*"), "-"), "abxc"), "-a-b--c-");
  EXPECT_EQ(normal(make_prepend("_"), ""), "");
  EXPECT_EQ(normal(make_strip(false, true), " \u3000a\u3000\n"), " \u3000a");
  EXPECT_EQ(normal(make_strip(true, true), " \n"), "");
  EXPECT_EQ(normal(make_byte_alphabet(), " \u00e9"), "\u0120\u00c3\u00a9");
}

Strings cut(std::unique_ptr<PreTokenizerStep> step, const std::string& text, bool at_start = true) {
  Pieces pieces{text, {}, at_start};
  if (!text.empty()) pieces.ranges.push_back({0, text.size()});
  step->apply(pieces);
  Strings out;
  for (const ByteRange& r : pieces.ranges) out.push_back(pieces.text.substr(r.begin, r.size()));
  return out;
}

TEST(PreTokenizer, SplitBehaviors) {
  const auto by = [](SplitBehavior b, bool invert = false) { return make_split(Regex("-"), b, invert); };
  using enum SplitBehavior;
  const std::string s = "the-final--countdown";  // the example of Hugging Face's documentation
  EXPECT_EQ(cut(by(removed), s), (Strings{"the", "final", "countdown"}));
  EXPECT_EQ(cut(by(isolated), s), (Strings{"the", "-", "final", "-", "-", "countdown"}));
  EXPECT_EQ(cut(by(merged_with_previous), s), (Strings{"the-", "final-", "-", "countdown"}));
  EXPECT_EQ(cut(by(merged_with_next), s), (Strings{"the", "-final", "-", "-countdown"}));
  EXPECT_EQ(cut(by(contiguous), s), (Strings{"the", "-", "final", "--", "countdown"}));
  EXPECT_EQ(cut(by(removed, true), s), (Strings{"-", "-", "-"}));
  EXPECT_EQ(cut(make_literal_split("--", removed, false), s), (Strings{"the-final", "countdown"}));
  EXPECT_EQ(cut(make_split(Regex("(?=(\\d{3})+(?!\\d))"), isolated, false), "1234567"), (Strings{"1", "234", "567"}));
  EXPECT_EQ(cut(by(isolated), ""), Strings{});
}

TEST(PreTokenizer, Gpt2Pattern) {
  EXPECT_EQ(cut(make_split(Regex(kGpt2Pattern), SplitBehavior::isolated, false), "I'm  12 a\u0301\n\n x "),
            (Strings{"I", "'m", " ", " 12", " a", "\u0301", "\n\n", " x", " "}));
}

TEST(PreTokenizer, MetaspaceAndLetters) {
  using enum PrependScheme;
  EXPECT_EQ(cut(make_metaspace("_", always, true), "a b  c"), (Strings{"_a", "_b", "_", "_c"}));
  EXPECT_EQ(cut(make_metaspace("_", never, false), "a b"), (Strings{"a_b"}));
  EXPECT_EQ(cut(make_metaspace("_", first, false), "a b", false), (Strings{"a_b"}));
  EXPECT_EQ(cut(make_metaspace("_", first, false), "a b", true), (Strings{"_a_b"}));
  EXPECT_EQ(cut(make_byte_letters(), " a"), (Strings{"\u0120a"}));
  EXPECT_EQ(cut(make_prefix_space(), "a"), (Strings{" a"}));
}

TEST(PreTokenizer, LongRunsAreLinear) {
  const auto start = std::chrono::steady_clock::now();
  for (const GgufPreTokenizer& row : gguf_pre_tokenizers())
    for (const char* pattern : row.patterns) {
      const Regex regex(pattern);
      for (const char* unit : {" ", "a", "A", "\n", "1", "\u0301", "=", " \n"}) {
        std::string text;
        for (int i = 0; i < 100000; ++i) text += unit;
        std::size_t from = 0;
        while (const auto m = regex.find(text, from)) {
          ASSERT_GT(m->size(), 0u);
          from = m->end;
        }
      }
    }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(120));
}

TEST(ByteAlphabet, IsGpt2s) {
  EXPECT_EQ(to_byte_letters(std::string(" \n\x7f\xa0\xad\xff\x00", 7)), "\u0120\u010a\u0121\u0142\u0143\u00ff\u0100");
  std::string all;
  for (int b = 0; b < 256; ++b) all.push_back(static_cast<char>(b));
  EXPECT_EQ(from_byte_letters(to_byte_letters(all)), all);
  EXPECT_FALSE(from_byte_letters("a b"));
  EXPECT_FALSE(from_byte_letters("\u0144"));
}

// The heap and the scan merge the same way as the definition, word for word.
TEST(Merge, HeapEqualsScanEqualsDefinition) {
  Rng rng(3);
  for (int round = 0; round < 2000; ++round) {
    // Random rules over ids 0 … 11; a pair makes a fixed id with a rank of its own.
    const std::uint64_t seed = rng.next();
    const auto pair = [&](const Symbol& a, const Symbol& b) {
      const std::uint64_t h =
          random_bits(seed, static_cast<std::uint64_t>(a.id) * 64 + static_cast<std::uint64_t>(b.id));
      if (h % 3 == 0) return Merge{};
      return Merge{static_cast<std::uint32_t>((h >> 8) % 1000), static_cast<std::int32_t>((h >> 32) % 12)};
    };
    std::vector<Symbol> start;
    for (std::uint32_t i = 0, n = static_cast<std::uint32_t>(rng.below(40)); i < n; ++i)
      start.push_back({static_cast<std::int32_t>(rng.below(12)), i, 1});
    std::vector<Symbol> naive = start;
    for (;;) {
      std::size_t best = 0;
      Merge found;
      for (std::size_t i = 0; i + 1 < naive.size(); ++i)
        if (const Merge m = pair(naive[i], naive[i + 1]); m.rank < found.rank) best = i, found = m;
      if (!found.exists()) break;
      naive[best].id = found.id;
      naive[best].size += naive[best + 1].size;
      naive.erase(naive.begin() + static_cast<std::ptrdiff_t>(best) + 1);
    }
    const auto ids = [](const std::vector<Symbol>& s) {
      std::vector<std::int32_t> v;
      for (const Symbol& x : s) v.push_back(x.id);
      return v;
    };
    std::vector<Symbol> scan = start, heap = start;
    std::vector<Merge> scratch;
    merge_by_scan(scan, pair, scratch);
    merge_by_heap(heap, pair);
    ASSERT_EQ(ids(scan), ids(naive)) << "seed 3 round " << round;
    ASSERT_EQ(ids(heap), ids(naive)) << "seed 3 round " << round;
  }
}

TEST(GgufPreTokenizers, EveryPatternCompiles) {
  for (const GgufPreTokenizer& row : gguf_pre_tokenizers())
    for (const char* pattern : row.patterns) EXPECT_NO_THROW(Regex{pattern}) << row.names.front();
  EXPECT_NE(find_gguf_pre_tokenizer("qwen35"), nullptr);
  EXPECT_EQ(find_gguf_pre_tokenizer("nonsense"), nullptr);
}

}  // namespace
}  // namespace hearth
