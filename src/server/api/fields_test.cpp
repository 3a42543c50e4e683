// The field tables: coercions, failures, and that each field that is read names a test that exists.
#include "server/api/fields.h"

#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "server/api/chat_request.h"
#include "server/api/completion_request.h"

namespace hearth {
namespace {

const FieldTable kTable{"t",
                        {{"b", FieldType::boolean, FieldUse::read, "", ""},
                         {"i", FieldType::integer, FieldUse::read, "", "", 1, 10},
                         {"x", FieldType::number, FieldUse::read, "", "", 0, 1},
                         {"s", FieldType::string, FieldUse::read, "", ""},
                         {"no", FieldType::any, FieldUse::refused, "not offered"},
                         {"free", FieldType::any, FieldUse::accepted, ""}}};

TEST(Fields, Coercions) {
  Json body = Json::parse(R"({"b":"true","i":"7","x":"0.5","s":"","no":false,"free":[1],"unknown":{},"null":null})");
  EXPECT_TRUE(check_fields(body, kTable).ok());
  EXPECT_TRUE(flag(body, "b"));
  EXPECT_EQ(integer(body, "i"), 7);
  EXPECT_EQ(number(body, "x"), 0.5);
  EXPECT_FALSE(body.contains("null"));
  body = Json::parse(R"({"i":5.0,"b":0})");
  EXPECT_TRUE(check_fields(body, kTable).ok());
  EXPECT_EQ(integer(body, "i"), 5);
  EXPECT_FALSE(flag(body, "b", true));
}

TEST(Fields, ABodyOfManyNullsDoesNotHoldAWorker) {
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += "\"k" + std::to_string(i) + "\":null,";
  text += "\"i\":5}";
  const std::clock_t before = std::clock();
  Result<Json> body = parse_json(text);
  ASSERT_TRUE(body.ok());
  EXPECT_TRUE(check_fields(*body, kTable).ok());
  EXPECT_LT(std::clock() - before, 10 * CLOCKS_PER_SEC);  // minutes, where each member costs a walk over the others
  EXPECT_EQ(body->size(), 1u);
}

TEST(Fields, Failures) {
  const auto param = [](const char* text) {
    Json body = Json::parse(text);
    const Status s = check_fields(body, kTable);
    return s.ok() ? std::string("ok") : s.param;
  };
  EXPECT_EQ(param(R"({"b":2})"), "body.b");
  EXPECT_EQ(param(R"({"i":1.5})"), "body.i");
  EXPECT_EQ(param(R"({"i":"1x"})"), "body.i");
  EXPECT_EQ(param(R"({"i":99999999999999999999})"), "body.i");
  EXPECT_EQ(param(R"({"i":18446744073709551615})"), "body.i");
  EXPECT_EQ(param(R"({"i":true})"), "body.i");
  EXPECT_EQ(param(R"({"i":0})"), "i");
  EXPECT_EQ(param(R"({"i":11})"), "i");
  EXPECT_EQ(param(R"({"x":"nan"})"), "body.x");
  EXPECT_EQ(param(R"({"x":1e300})"), "x");
  EXPECT_EQ(param(R"({"s":5})"), "body.s");
  EXPECT_EQ(param(R"({"no":{"a":1}})"), "no");
  EXPECT_EQ(param(R"({"no":null})"), "ok");
}

TEST(Fields, EveryFieldThatIsReadNamesATestThatExists) {
  std::string tests;
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(HEARTH_GOLDEN) / ".." / "e2e")) {
    if (entry.path().extension() != ".py") continue;
    std::ifstream in(entry.path());
    tests.append(std::istreambuf_iterator<char>(in), {});
  }
  for (const FieldTable* table : {chat_fields(), completion_fields()})
    for (const FieldSpec& f : table->fields) {
      EXPECT_FALSE(f.doc.empty()) << table->name << "." << f.name;
      if (f.use != FieldUse::read) continue;
      EXPECT_FALSE(f.test.empty()) << table->name << "." << f.name;
      EXPECT_NE(tests.find("def " + f.test + "("), std::string::npos)
          << table->name << "." << f.name << " names " << f.test;
    }
}

}  // namespace
}  // namespace hearth
