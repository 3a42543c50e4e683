#include <gtest/gtest.h>

#include <ctime>

#include "text/chat_template.h"

namespace hearth {
namespace {

std::string normal(const char* messages, MessageRules rules = {}) {
  const auto out = normalize_messages(Json::parse(messages), rules);
  return out ? dump_json(*out) : out.status().param + ": " + out.status().message;
}
std::string param(const char* messages) {
  const auto out = normalize_messages(Json::parse(messages), {});
  EXPECT_TRUE(out.ok() || out.status().code == Code::invalid_argument);
  return out ? "ok" : out.status().param;
}
std::string tools(const char* text) {
  const auto out = normalize_tools(Json::parse(text));
  return out ? dump_json(*out) : out.status().param + ": " + out.status().message;
}

TEST(Messages, roles) {
  EXPECT_EQ(normal(R"([{"role":"developer","content":"d"},{"role":"user","content":"u"}])"),
            R"([{"role":"system","content":"d"},{"role":"user","content":"u"}])");
  EXPECT_EQ(normal(R"([{"role":"function","name":"f","content":"r"}])"),
            R"([{"role":"tool","content":"r","name":"f"}])");
  EXPECT_EQ(normal(R"([{"role":"boss","content":""}])"),
            "messages[0].role: messages[0].role is 'boss': known roles are system, developer, user, assistant, tool, "
            "function");
  EXPECT_EQ(param(R"([{"content":""}])"), "messages[0].role");
  EXPECT_EQ(param("[]"), "messages");
  EXPECT_EQ(param("{}"), "messages");
  EXPECT_EQ(param("[1]"), "messages[0]");
}

TEST(Messages, leading_system_messages_are_one) {
  EXPECT_EQ(
      normal(R"([{"role":"system","content":"a"},{"role":"developer","content":"b"},{"role":"user","content":"u"}])",
             {.lenient = false}),
      R"([{"role":"system","content":"a\n\nb"},{"role":"user","content":"u"}])");
}

TEST(Messages, a_late_system_message_moves_to_the_front_when_lenient) {
  const char* late =
      R"([{"role":"user","content":"u"},{"role":"system","content":"late"},{"role":"user","content":"v"}])";
  EXPECT_EQ(normal(late),
            R"([{"role":"system","content":"late"},{"role":"user","content":"u"},{"role":"user","content":"v"}])");
  EXPECT_EQ(normal(late, {.lenient = false}),
            R"([{"role":"user","content":"u"},{"role":"system","content":"late"},{"role":"user","content":"v"}])");
  EXPECT_EQ(
      normal(R"([{"role":"system","content":"a"},{"role":"user","content":"u"},{"role":"system","content":"b"}])"),
      R"([{"role":"system","content":"a\n\nb"},{"role":"user","content":"u"}])");
}

TEST(Messages, content_parts) {
  const char* parts =
      R"([{"role":"user","content":[{"type":"text","text":"a","cache_control":{}},{"type":"input_text","text":"b"},"c",{"text":"d"}]}])";
  EXPECT_EQ(normal(parts), R"([{"role":"user","content":"a\nb\nc\nd"}])");
  EXPECT_EQ(
      normal(parts, {.keep_parts = true}),
      R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"text","text":"b"},{"type":"text","text":"c"},{"type":"text","text":"d"}]}])");
  EXPECT_EQ(normal(R"([{"role":"user","content":[{"type":"text","text":"a"}]}])", {.keep_parts = true}),
            R"([{"role":"user","content":"a"}])");
  EXPECT_EQ(
      normal(
          R"([{"role":"tool","tool_call_id":"i","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]}])",
          {.keep_parts = true}),
      R"([{"role":"tool","content":"a\nb","tool_call_id":"i"}])");
  EXPECT_EQ(normal(R"([{"role":"assistant","content":null},{"role":"assistant"}])"),
            R"([{"role":"assistant","content":""},{"role":"assistant","content":""}])");
  EXPECT_EQ(normal(R"([{"role":"assistant","content":[{"type":"refusal","refusal":"no"}]}])"),
            R"([{"role":"assistant","content":"no"}])");
}

TEST(Messages, pictures_sound_and_video_are_refused) {
  EXPECT_EQ(
      normal(
          R"([{"role":"user","content":[{"type":"text","text":"a"},{"type":"image_url","image_url":{"url":"x"}}]}])"),
      "messages[0].content[1]: messages[0].content[1] is of type 'image_url': this model is served text only");
  EXPECT_EQ(param(R"([{"role":"user","content":[{"image_url":"x"}]}])"), "messages[0].content[0]");
  EXPECT_EQ(param(R"([{"role":"user","content":[{"type":"input_audio","input_audio":{}}]}])"),
            "messages[0].content[0]");
  EXPECT_EQ(param(R"([{"role":"user","content":[{"type":"video_url","video_url":{}}]}])"), "messages[0].content[0]");
}

TEST(Messages, shape_errors_name_the_field) {
  EXPECT_EQ(param(R"([{"role":"user","content":"a"},{"role":"user","content":7}])"), "messages[1].content");
  EXPECT_EQ(param(R"([{"role":"user","content":[{"type":"hologram"}]}])"), "messages[0].content[0].type");
  EXPECT_EQ(param(R"([{"role":"user","content":[{"type":"text","text":1}]}])"), "messages[0].content[0].text");
  EXPECT_EQ(param(R"([{"role":"user","content":[4]}])"), "messages[0].content[0]");
  EXPECT_EQ(param(R"([{"role":"user","content":"a","name":3}])"), "messages[0].name");
  EXPECT_EQ(param(R"([{"role":"assistant","reasoning":{}}])"), "messages[0].reasoning");
}

TEST(Messages, tool_calls) {
  const auto with = [](const std::string& call) {
    return normal((R"([{"role":"assistant","content":null,"tool_calls":[)" + call + "]}]").c_str());
  };
  const auto expected = [](const std::string& arguments) {
    return R"([{"role":"assistant","content":"","tool_calls":[{"id":"i","type":"function","function":{"name":"f","arguments":)" +
           arguments + "}}]}]";
  };
  EXPECT_EQ(with(R"({"id":"i","type":"function","function":{"name":"f","arguments":"{\"b\": 1, \"a\": [2.50]}"}})"),
            expected(R"({"b":1,"a":[2.5]})"));
  EXPECT_EQ(with(R"({"id":"i","function":{"name":"f","arguments":""}})"), expected("{}"));
  EXPECT_EQ(with(R"({"id":"i","type":"function","function":{"name":"f"}})"), expected("{}"));
  EXPECT_EQ(with(R"({"id":"i","type":"function","function":{"name":"f","arguments":{"x":1}}})"),
            expected(R"({"x":1})"));
  EXPECT_EQ(with(""), R"([{"role":"assistant","content":""}])");
  EXPECT_EQ(
      param(R"([{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":"{x"}}]}])"),
      "messages[0].tool_calls[0].function.arguments");
  EXPECT_EQ(
      param(R"([{"role":"assistant","tool_calls":[{"type":"function","function":{"name":"f","arguments":"[1]"}}]}])"),
      "messages[0].tool_calls[0].function.arguments");
  EXPECT_EQ(param(R"([{"role":"assistant","tool_calls":[{"type":"custom","function":{"name":"f"}}]}])"),
            "messages[0].tool_calls[0].type");
  EXPECT_EQ(param(R"([{"role":"assistant","tool_calls":[{"type":"function","function":{}}]}])"),
            "messages[0].tool_calls[0].function.name");
  EXPECT_EQ(param(R"([{"role":"assistant","tool_calls":{}}])"), "messages[0].tool_calls");
}

TEST(Messages, either_spelling_of_reasoning_gives_both) {
  const char* both = R"([{"role":"assistant","content":"a","reasoning_content":"r","reasoning":"r"}])";
  EXPECT_EQ(normal(R"([{"role":"assistant","content":"a","reasoning":"r"}])"), both);
  EXPECT_EQ(normal(R"([{"role":"assistant","content":"a","reasoning_content":"r","reasoning":null}])"), both);
  EXPECT_EQ(
      normal(R"([{"role":"assistant","content":[{"type":"thinking","thinking":"r"},{"type":"text","text":"a"}]}])"),
      both);
  EXPECT_EQ(normal(R"([{"role":"assistant","content":[{"type":"reasoning","text":"r"},{"type":"text","text":"a"}]}])"),
            both);
  EXPECT_EQ(normal(R"([{"role":"assistant","content":"a","reasoning_content":""}])"),
            R"([{"role":"assistant","content":"a","reasoning_content":"","reasoning":""}])");
}

TEST(Messages, a_tool_reference_whose_text_is_no_text_is_left_out) {
  EXPECT_EQ(normal(R"([{"role":"user","content":[{"type":"tool_reference","text":5},{"type":"text","text":"a"}]}])"),
            R"([{"role":"user","content":"a"}])");
}

TEST(Messages, many_system_messages_are_joined_in_time_that_grows_with_them) {
  Json messages = Json::array();
  std::string expected;
  for (int i = 0; i < 100000; ++i) {
    messages.push_back({{"role", "system"}, {"content", std::string(20, 'a')}});
    expected += (i ? "\n\n" : "") + std::string(20, 'a');
  }
  const std::clock_t before = std::clock();
  const Result<Json> out = normalize_messages(messages, {});
  EXPECT_LT(std::clock() - before, 10 * CLOCKS_PER_SEC);
  ASSERT_TRUE(out.ok());
  ASSERT_EQ(out->size(), 1u);
  EXPECT_EQ((*out)[0]["content"], expected);
}

TEST(Tools, keys_come_in_one_order_and_others_are_dropped) {
  EXPECT_EQ(
      tools(
          R"([{"function":{"strict":true,"parameters":{"z":1,"a":{"q":2.0}},"x":1,"name":"f"},"cache":1,"type":"function"}])"),
      R"([{"type":"function","function":{"name":"f","description":null,"parameters":{"z":1,"a":{"q":2.0}},"strict":true}}])");
  EXPECT_EQ(tools("null"), "null");
  EXPECT_EQ(tools("[]"), "null");
  EXPECT_EQ(tools(R"([{"type":"function","name":"f","description":"d"}])"),
            R"([{"type":"function","function":{"name":"f","description":"d","parameters":null}}])");
}

TEST(Tools, shape_errors_name_the_field) {
  const auto where = [](const char* text) { return tools(text).substr(0, tools(text).find(':')); };
  EXPECT_EQ(where("{}"), "tools");
  EXPECT_EQ(where("[1]"), "tools[0]");
  EXPECT_EQ(where(R"([{"type":"web_search"}])"), "tools[0].type");
  EXPECT_EQ(where(R"([{"type":"function"}])"), "tools[0].function");
  EXPECT_EQ(where(R"([{"type":"function","function":{"name":""}}])"), "tools[0].function.name");
  EXPECT_EQ(where(R"([{"type":"function","function":{"name":"f","parameters":[]}}])"), "tools[0].function.parameters");
}

}  // namespace
}  // namespace hearth
