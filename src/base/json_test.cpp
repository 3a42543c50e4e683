#include "base/json.h"

#include <gtest/gtest.h>

#include <ctime>

namespace hearth {
namespace {

std::string round_trip(std::string_view text) {
  const Result<Json> value = parse_json(text);
  return value.ok() ? dump_json(*value) : value.status().message;
}

TEST(ParseJson, KeepsTheOrderOfKeys) {
  EXPECT_EQ(round_trip(R"( {"b": [1, -2, 3.5, "x", null, true, {}], "a": {"z": {}, "y": [[]]}} )"),
            R"({"b":[1,-2,3.5,"x",null,true,{}],"a":{"z":{},"y":[[]]}})");
  EXPECT_EQ(round_trip("18446744073709551615"), "18446744073709551615");
  EXPECT_EQ(round_trip("-9223372036854775808"), "-9223372036854775808");
}

TEST(ParseJson, OfARepeatedKeyTheLastValueCountsInTheFirstPlace) {
  EXPECT_EQ(round_trip(R"({"a":1,"b":{"x":1,"x":2},"a":[3],"c":4,"a":5})"), R"({"a":5,"b":{"x":2},"c":4})");
}

TEST(ParseJson, SaysWhereTheTextIsWrong) {
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "1 2", "\"\xc3\"", "nul", "[1e999]", "\"\\ud800\""})
    EXPECT_EQ(round_trip(text).find("invalid JSON"), 0u) << text;
  EXPECT_NE(round_trip("[1,]").find("at byte 4"), std::string::npos);
  EXPECT_EQ(round_trip(std::string(513, '[')), "JSON is nested deeper than 512 levels (at byte 512)");
}

TEST(ParseJson, AnObjectOfManyKeysTakesTimeInProportion) {
  std::string text = "{";
  for (int i = 0; i < 300000; ++i) text += (i ? ",\"k" : "\"k") + std::to_string(i) + "\":1";
  text += "}";
  const std::clock_t before = std::clock();
  const Result<Json> value = parse_json(text);
  EXPECT_LT(std::clock() - before, 10 * CLOCKS_PER_SEC);  // minutes, where each key is compared with all before it
  ASSERT_TRUE(value.ok());
  EXPECT_EQ(value->size(), 300000u);
}

}  // namespace
}  // namespace hearth
