#include "text/chat_template.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace hearth {
namespace {

std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

Json read_json(const std::string& path) {
  Result<Json> json = parse_json(read_file(path));
  EXPECT_TRUE(json.ok()) << path;
  return json ? *json : Json();
}

// What the golden says: the exact text, or the error. Python's own errors are matched by their kind.
void expect_outcome(const Result<MarkedText>& got, const Json& expected_text, const Json& expected_error, const std::string& name) {
  if (expected_error.is_null()) {
    ASSERT_TRUE(got.ok()) << name << ": " << got.status().message;
    EXPECT_EQ(got->text, expected_text.get<std::string>()) << name;
    return;
  }
  ASSERT_FALSE(got.ok()) << name << " rendered: " << got->text;
  const std::string error = expected_error.get<std::string>();
  if (error.starts_with("TypeError: ")) {
    EXPECT_TRUE(got.status().message.starts_with("TypeError: ")) << name << ": " << got.status().message;
  } else if (error.starts_with("TemplateError: ")) {
    EXPECT_NE(got.status().message.find(error.substr(15)), std::string::npos) << name << ": " << got.status().message;
  } else {
    EXPECT_EQ(got.status().message, error) << name;
  }
}

TEST(ChatTemplate, qwen3_5_goldens) {
  const std::string dir = std::string(HEARTH_GOLDEN) + "/chat_template/";
  const Json golden = read_json(dir + "chat_template_cases.json");
  const ChatTemplate chat(read_file(dir + golden["template"].get<std::string>()), Json::object());
  ASSERT_EQ(golden["cases"].size(), 94u);
  for (const Json& c : golden["cases"]) {
    RenderInput in;
    in.messages = c["messages"];
    in.tools = c.value("tools", Json());
    in.kwargs = c.value("kwargs", Json::object());
    in.add_generation_prompt = in.kwargs.value("add_generation_prompt", false);
    in.kwargs.erase("add_generation_prompt");
    expect_outcome(chat.render(in), c.value("expected", Json()), c.value("error", Json()), c["name"]);
  }
}

// The templates belong to their models and are not in the tree: tools/ says how to get them.
TEST(ChatTemplate, real_templates_goldens) {
  const Json golden = read_json(std::string(HEARTH_GOLDEN) + "/real_models/chat_templates.json");
  const char* models = std::getenv("HEARTH_MODELS");
  const char* home = std::getenv("HOME");
  const std::string dir = models ? models : std::string(home ? home : "") + "/.cache/hearth/models";
  std::string missing;
  for (const auto& [name, about] : golden["templates"].items()) {
    const std::string source = read_file(dir + "/templates/" + name + ".jinja");
    if (source.empty()) {
      missing += " " + name;
      continue;
    }
    EXPECT_EQ(source.size(), about["bytes"].get<std::size_t>()) << name;
    Json special = Json::object();
    for (const char* key : {"bos_token", "eos_token"})
      if (about.contains(key)) special[key] = about[key];
    const ChatTemplate chat(source, special);
    for (const auto& [case_name, c] : golden["cases"].items()) {
      RenderInput in;
      in.messages = c["messages"];
      in.tools = c.value("tools", Json());
      in.add_generation_prompt = c.value("add_generation_prompt", true);
      if (c.contains("enable_thinking")) in.kwargs["enable_thinking"] = c["enable_thinking"];
      const Json& expected = golden["expected"][name][case_name];
      const bool failed = expected.is_object();
      expect_outcome(chat.render(in), failed ? Json() : expected, failed ? expected["error"] : Json(), name + ", " + case_name);
    }
  }
  if (!missing.empty()) GTEST_SKIP() << "not in " << dir << "/templates:" << missing;
}

}  // namespace
}  // namespace hearth
