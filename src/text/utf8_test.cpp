#include "text/utf8.h"

#include <gtest/gtest.h>

namespace hearth {
namespace {

TEST(Utf8, MaximalSubpartsBecomeOneReplacementEach) {
  // Unicode standard, table 3-8.
  EXPECT_EQ(to_utf8("\x61\xF1\x80\x80\xE1\x80\xC2\x62\x80\x63\x80\xBF\x64"),
            "a\uFFFD\uFFFD\uFFFDb\uFFFDc\uFFFD\uFFFDd");
  EXPECT_EQ(to_utf8("\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"),
            "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD"
            "A");
  EXPECT_EQ(to_utf8("\xED\xA0\x80\xF4\x90\x80\x80"), "\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD\uFFFD");
  EXPECT_EQ(to_utf8("\xE2\x82"), "\uFFFD");
  EXPECT_EQ(to_utf8("\xED\xA0"), "\uFFFD\uFFFD");
  EXPECT_EQ(to_utf8("\xED\x80"), "\uFFFD");
}

TEST(Utf8, TakeLeavesWhatMayBecomeACharacter) {
  std::string out;
  EXPECT_EQ(take_utf8("ab\xF0\x9F\x98", out), 2u);
  EXPECT_EQ(out, "ab");
  out.clear();
  EXPECT_EQ(take_utf8("\xF0\x9F\x98\x80\xE4", out), 4u);
  EXPECT_EQ(out, "😀");
}

TEST(Utf8, EveryCodePointThereAndBack) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string s;
    append_utf8(s, c);
    const Utf8Step step = utf8_step(s, 0);
    ASSERT_EQ(step.kind, Utf8Kind::whole);
    ASSERT_EQ(step.code, c);
    ASSERT_EQ(step.size, s.size());
  }
}

}  // namespace
}  // namespace hearth
