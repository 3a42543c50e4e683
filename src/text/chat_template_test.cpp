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
void expect_outcome(const Result<MarkedText>& got, const Json& expected_text, const Json& expected_error,
                    const std::string& name) {
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
      expect_outcome(chat.render(in), failed ? Json() : expected, failed ? expected["error"] : Json(),
                     name + ", " + case_name);
    }
  }
  if (!missing.empty()) GTEST_SKIP() << "not in " << dir << "/templates:" << missing;
}

// ---- inputs --------------------------------------------------------------------------------------------------------
constexpr const char* kChat =
    "{% for m in messages %}[{{ m.role }}]{{ m.content | trim }};{% endfor %}{% if add_generation_prompt "
    "%}[assistant]{% endif %}";

RenderInput input(const char* messages) {
  RenderInput in;
  in.messages = Json::parse(messages);
  return in;
}

TEST(ChatTemplate, continue_final_message_ends_behind_its_text) {
  RenderInput in = input(R"([{"role": "user", "content": "a"}, {"role": "assistant", "content": "The answer "}])");
  in.add_generation_prompt = false;
  in.continue_final_message = true;
  const auto out = ChatTemplate(kChat, Json::object()).render(in);
  ASSERT_TRUE(out.ok()) << out.status().message;
  EXPECT_EQ(out->text, "[user]a;[assistant]The answer");  // this template trims, so the space goes
  const auto kept = ChatTemplate("{% for m in messages %}{{ m.content }}<end>{% endfor %}", Json::object()).render(in);
  ASSERT_TRUE(kept.ok());
  EXPECT_EQ(kept->text, "a<end>The answer ");
  in.messages.back()["content"] = Json::parse(R"([{"type": "text", "text": "x"}, {"type": "text", "text": "y"}])");
  const auto parts =
      ChatTemplate("{% for m in messages %}{% for p in m.content %}{{ p.text }}{% endfor %}<end>{% endfor %}",
                   Json::object())
          .render(in);
  ASSERT_TRUE(parts.ok());
  EXPECT_EQ(parts->text, "<end>xy");
}

TEST(ChatTemplate, continue_final_message_errors) {
  RenderInput in = input(R"([{"role": "user", "content": "a"}])");
  in.continue_final_message = true;
  EXPECT_EQ(ChatTemplate(kChat, Json::object()).render(in).status().param, "continue_final_message");
  in.add_generation_prompt = false;
  EXPECT_EQ(ChatTemplate("nothing", Json::object()).render(in).status().param, "messages");
  in.messages[0]["content"] = nullptr;
  EXPECT_EQ(ChatTemplate(kChat, Json::object()).render(in).status().param, "messages[0].content");
}

TEST(ChatTemplate, reserved_kwargs_are_refused) {
  for (const char* name : {"messages", "tools", "documents", "add_generation_prompt", "continue_final_message"}) {
    RenderInput in = input("[]");
    in.request_kwargs[name] = 1;
    EXPECT_EQ(ChatTemplate("x", Json::object()).render(in).status().param, "chat_template_kwargs") << name;
  }
}

TEST(ChatTemplate, variables) {
  RenderInput in = input("[]");
  in.kwargs["enable_thinking"] = false;
  in.documents = Json::parse(R"([{"title": "T"}])");
  const auto out =
      ChatTemplate("{{ bos_token }} {{ enable_thinking is false }} {{ documents[0].title }} {{ tools is none }}",
                   Json{{"bos_token", "<s>"}})
          .render(in);
  ASSERT_TRUE(out.ok());
  EXPECT_EQ(out->text, "<s> True T True");
}

TEST(ChatTemplate, errors) {
  try {
    const ChatTemplate broken("a\n{{ x|nosuch }}", Json::object());
    FAIL() << "parsed";
  } catch (const StartupError& e) {
    EXPECT_STREQ(e.what(), "the chat template cannot be used: line 2: no filter named 'nosuch'");
    EXPECT_EQ(e.where(), "chat template");
  }
  const auto own = ChatTemplate("{{ raise_exception('No messages provided.') }}", Json::object()).render(input("[]"));
  EXPECT_EQ(own.status().message, "No messages provided.");
  const auto other = ChatTemplate("\n{{ 1 + none }}", Json::object()).render(input("[]"));
  EXPECT_EQ(other.status().message,
            "TypeError: unsupported operand type(s) for +: 'int' and 'NoneType' (chat template, line 2)");
  EXPECT_EQ(other.status().code, Code::invalid_argument);
}

TEST(ChatTemplate, wants_content_parts) {
  const std::string dir = std::string(HEARTH_GOLDEN) + "/chat_template/";
  EXPECT_TRUE(ChatTemplate(read_file(dir + "chat_template.jinja"), Json::object()).wants_content_parts());
  EXPECT_FALSE(ChatTemplate(kChat, Json::object()).wants_content_parts());
  EXPECT_FALSE(
      ChatTemplate("{% for m in messages %}{{ m.content + '' }}{% endfor %}", Json::object()).wants_content_parts());
  // Lists for users only: then all contents are strings.
  EXPECT_FALSE(ChatTemplate("{% for m in messages %}{% if m.role == 'user' and m.content is not string %}{% for p in "
                            "m.content %}{{ p.text }}"
                            "{% endfor %}{% else %}{{ m.content }}{% endif %}{% endfor %}",
                            Json::object())
                   .wants_content_parts());
}

}  // namespace
}  // namespace hearth
