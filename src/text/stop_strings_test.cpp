#include "text/stop_strings.h"

#include <gtest/gtest.h>

#include "base/rng.h"

namespace hearth {
namespace {

struct Outcome {
  std::string text;
  std::optional<std::string> matched;
  bool operator==(const Outcome&) const = default;
};

Outcome feed(StopStrings stops, const std::vector<std::string>& pieces) {
  Outcome o;
  for (const std::string& p : pieces) o.text += stops.push(p);
  o.text += stops.finish();
  o.matched = stops.matched();
  return o;
}

TEST(StopStrings, CutsAcrossPieces) {
  StopStrings s({"STOP"}, false);
  EXPECT_EQ(s.push("abcS"), "abc");
  EXPECT_EQ(s.push("TO"), "");
  EXPECT_EQ(s.push("Px"), "");
  EXPECT_EQ(s.matched(), "STOP");
  EXPECT_EQ(s.push("more"), "");
  EXPECT_EQ(s.finish(), "");
}

TEST(StopStrings, ReleasesWhatIsNoMatch) {
  StopStrings s({"STOP"}, false);
  EXPECT_EQ(s.push("STO"), "");
  EXPECT_EQ(s.push("RM"), "STORM");
  EXPECT_EQ(s.push("ST"), "");
  EXPECT_EQ(s.finish(), "ST");
  EXPECT_FALSE(s.matched());
}

TEST(StopStrings, MayKeepTheStop) {
  EXPECT_EQ(feed(StopStrings({"\n\n"}, true), {"a\n", "\nb"}), (Outcome{"a\n\n", "\n\n"}));
}

TEST(StopStrings, EarliestWinsThenListOrder) {
  EXPECT_EQ(feed(StopStrings({"bc", "abcd"}, false), {"xabc", "d"}), (Outcome{"x", "abcd"}));
  EXPECT_EQ(feed(StopStrings({"bc", "abcd"}, false), {"xabc", "e"}), (Outcome{"xa", "bc"}));
  EXPECT_EQ(feed(StopStrings({"bc", "abcd"}, false), {"xabc"}), (Outcome{"xa", "bc"}));
  EXPECT_EQ(feed(StopStrings({"ab", "abc"}, false), {"ab"}), (Outcome{"", "ab"}));
  EXPECT_EQ(feed(StopStrings({"abc", "ab"}, false), {"ab", "c"}), (Outcome{"", "abc"}));
}

TEST(StopStrings, UncheckedTextIsForgotten) {
  StopStrings s({"ab"}, false);
  EXPECT_EQ(s.push("ab a", false), "ab a");
  EXPECT_EQ(s.push("b"), "b");
  EXPECT_FALSE(s.matched());
}

TEST(StopStrings, NoStopsHoldNothing) {
  StopStrings s({"", ""}, false);
  EXPECT_EQ(s.push("abc"), "abc");
}

// However the text is cut, the outcome is that of a search over the whole.
TEST(StopStrings, CutsDoNotMatter) {
  Rng rng(11);
  for (int round = 0; round < 3000; ++round) {
    const auto word = [&](std::uint64_t longest) {
      std::string w;
      for (std::uint64_t n = 1 + rng.below(longest); n > 0; --n) w.push_back(static_cast<char>('a' + rng.below(2)));
      return w;
    };
    std::vector<std::string> stops;
    for (std::uint64_t n = 1 + rng.below(3); n > 0; --n) stops.push_back(word(5));
    const std::string text = word(20);
    Outcome want{text, std::nullopt};
    for (std::size_t pos = 0; pos < text.size() && !want.matched; ++pos)
      for (const std::string& stop : stops)
        if (!want.matched && text.compare(pos, stop.size(), stop) == 0) want = {text.substr(0, pos), stop};
    std::vector<std::string> pieces;
    for (std::size_t pos = 0; pos < text.size();) {
      const std::size_t n = 1 + rng.below(4);
      pieces.push_back(text.substr(pos, n));
      pos += n;
    }
    ASSERT_EQ(feed(StopStrings(stops, false), pieces), want) << text << " seed 11 round " << round;
  }
}

}  // namespace
}  // namespace hearth
