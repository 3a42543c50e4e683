#include "text/regex.h"

#include <gtest/gtest.h>

#include <chrono>

#include "text/utf8.h"

namespace hearth {
namespace {

std::vector<std::string> all(const std::string& pattern, const std::string& text) {
  const Regex regex(pattern);
  std::vector<std::string> found;
  std::size_t from = 0;
  while (const auto m = regex.find(text, from)) {
    if (m->size() == 0) break;
    found.push_back(text.substr(m->begin, m->size()));
    from = m->end;
  }
  return found;
}

using Strings = std::vector<std::string>;

TEST(Regex, SpaceIsExactlyWhiteSpace) {
  const Regex space("\\s"), not_space("\\S"), in_class("[\\s]"), not_in_class("[^\\s]"), not_space_in_class("[\\Sx]");
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    if (c >= 0xD800 && c <= 0xDFFF) continue;
    std::string s;
    append_utf8(s, c);
    const bool white = is_white_space(c);
    ASSERT_EQ(space.find(s, 0).has_value(), white) << std::hex << static_cast<unsigned>(c);
    ASSERT_EQ(in_class.find(s, 0).has_value(), white) << std::hex << static_cast<unsigned>(c);
    ASSERT_EQ(not_space.find(s, 0).has_value(), !white) << std::hex << static_cast<unsigned>(c);
    ASSERT_EQ(not_in_class.find(s, 0).has_value(), !white) << std::hex << static_cast<unsigned>(c);
    ASSERT_EQ(not_space_in_class.find(s, 0).has_value(), !white) << std::hex << static_cast<unsigned>(c);
  }
}

TEST(Regex, CaseFoldsByUnicode) { EXPECT_EQ(all("(?i:'s)", "'s 'S '\u017F"), (Strings{"'s", "'S", "'\u017F"})); }

TEST(Regex, OnigurumaSyntax) {
  EXPECT_EQ(all("\\p{Han}", "a々漢、"), (Strings{"々", "漢"}));  // 、 is Han by extension only
  EXPECT_EQ(all("[a-z&&[^b]]+", "abcb"), (Strings{"a", "c"}));
  EXPECT_EQ(all("\\h+", "xyzBEEFq"), (Strings{"BEEF"}));
  EXPECT_EQ(all("^a", "a\nab\na"), (Strings{"a", "a", "a"}));
  EXPECT_EQ(all("\\p{Letter}\\p{Mark}", "e\u0301"), (Strings{"e\u0301"}));
  EXPECT_EQ(all("(?m:a.b)", "a\nb"), (Strings{"a\nb"}));
  EXPECT_EQ(all("[!-/:-@\\[-`{-~]", "a[b]"), (Strings{"[", "]"}));
  EXPECT_EQ(all("[]a]+", "x]a"), (Strings{"]a"}));
}

TEST(Regex, BadPatternsAreErrors) {
  for (const char* bad :
       {"(", "[a", "a\\", "*", "[a[b]]", "\\p{Nonsense}", "[^a&&[b]]", "(?<n>a)(?<n>b)", "((a|b){1000}){1000}"})
    EXPECT_THROW(Regex{bad}, RegexError) << bad;
}

TEST(Regex, CatastrophicPatternsEnd) {
  const auto start = std::chrono::steady_clock::now();
  const Regex regex("(a+)+$|(?:a|aa)+b");
  EXPECT_FALSE(regex.find(std::string(200, 'a') + "c", 0));
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace hearth
