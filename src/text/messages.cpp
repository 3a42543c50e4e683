#include "text/messages.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/chat_template.h"

namespace hearth {
namespace {

constexpr std::array<std::string_view, 6> kRoles = {"system", "developer", "user", "assistant", "tool", "function"};

bool given(const Json& object, const char* key) { return object.contains(key) && !object[key].is_null(); }

// ---- tool calls ----------------------------------------------------------------------------------------------------
Result<Json> read_arguments(const Json& function, const std::string& where) {
  if (!given(function, "arguments")) return Json::object();
  const Json& arguments = function["arguments"];
  if (arguments.is_object()) return arguments;
  if (!arguments.is_string())
    return invalid_argument(
        fmt::format("{} must be a string of JSON or an object, not {}", where, arguments.type_name()), where);
  const std::string& text = arguments.get_ref<const std::string&>();
  if (text.find_first_not_of(" \t\r\n") == std::string::npos) return Json::object();
  Result<Json> parsed = parse_json(text);
  if (!parsed) return invalid_argument(fmt::format("{}: {}", where, parsed.status().message), where);
  if (!parsed->is_object())
    return invalid_argument(fmt::format("{} must be a JSON object, not {}", where, parsed->type_name()), where);
  return parsed;
}

Result<Json> read_call(const Json& call, const std::string& where) {
  if (!call.is_object()) return invalid_argument(where + " must be an object", where);
  if (given(call, "type") && call["type"] != "function")
    return invalid_argument(fmt::format("{}.type is {}: only \"function\" is known", where, dump_json(call["type"])),
                            where + ".type");
  if (!given(call, "function") || !call["function"].is_object())
    return invalid_argument(where + ".function must be an object with name and arguments", where + ".function");
  const Json& function = call["function"];
  if (!given(function, "name") || !function["name"].is_string())
    return invalid_argument(where + ".function.name must be a string", where + ".function.name");
  Result<Json> arguments = read_arguments(function, where + ".function.arguments");
  if (!arguments) return arguments.status();
  Json out = Json::object();
  if (given(call, "id")) {
    if (!call["id"].is_string()) return invalid_argument(where + ".id must be a string", where + ".id");
    out["id"] = call["id"];
  }
  out["type"] = "function";
  out["function"] = Json{{"name", function["name"]}, {"arguments", std::move(*arguments)}};
  return out;
}

Result<Json> read_calls(const Json& message, const std::string& where) {
  Json out = Json::array();
  if (given(message, "tool_calls")) {
    const Json& calls = message["tool_calls"];
    if (!calls.is_array()) return invalid_argument(where + ".tool_calls must be an array", where + ".tool_calls");
    for (std::size_t i = 0; i < calls.size(); ++i) {
      Result<Json> call = read_call(calls[i], fmt::format("{}.tool_calls[{}]", where, i));
      if (!call) return call.status();
      out.push_back(std::move(*call));
    }
  } else if (given(message, "function_call")) {  // the older spelling of one call
    Result<Json> call = read_call(Json{{"function", message["function_call"]}}, where + ".function_call");
    if (!call) return call.status();
    out.push_back(std::move(*call));
  }
  return out;
}

// ---- one message ---------------------------------------------------------------------------------------------------
Status copy_text(const Json& from, const char* key, const std::string& where, Json& to) {
  if (!given(from, key)) return {};
  if (!from[key].is_string())
    return invalid_argument(fmt::format("{}.{} must be a string", where, key), fmt::format("{}.{}", where, key));
  to[key] = from[key];
  return {};
}

Status read_assistant(const Json& message, const std::string& where, const MessageText& text, Json& out) {
  if (out["content"] == "" && given(message, "refusal") && message["refusal"].is_string())
    out["content"] = message["refusal"];
  Json fields = Json::object();
  for (const char* key : {"reasoning_content", "reasoning", "thinking"})
    if (Status s = copy_text(message, key, where, fields); !s.ok()) return s;
  Json reasoning;
  for (const char* key : {"reasoning_content", "reasoning", "thinking"})
    if (fields.contains(key) && (reasoning.is_null() || reasoning == "")) reasoning = fields[key];
  if (text.has_reasoning && (reasoning.is_null() || reasoning == "")) reasoning = text.reasoning;
  if (!reasoning.is_null()) {
    out["reasoning_content"] = reasoning;
    out["reasoning"] = reasoning;
  }
  Result<Json> calls = read_calls(message, where);
  if (!calls) return calls.status();
  if (!calls->empty()) out["tool_calls"] = std::move(*calls);
  return {};
}

Result<Json> read_message(const Json& message, const std::string& where, bool keep_parts) {
  if (!message.is_object()) return invalid_argument(where + " must be an object with role and content", where);
  if (!message.contains("role") || !message["role"].is_string())
    return invalid_argument(where + ".role must be a string", where + ".role");
  std::string role = message["role"].get<std::string>();
  if (std::find(kRoles.begin(), kRoles.end(), role) == kRoles.end())
    return invalid_argument(fmt::format("{}.role is '{}': known roles are {}", where, role, fmt::join(kRoles, ", ")),
                            where + ".role");
  if (role == "developer") role = "system";
  if (role == "function") role = "tool";
  Result<MessageText> text = read_content(message.value("content", Json()), where + ".content", role == "assistant");
  if (!text) return text.status();
  Json out = Json::object();
  out["role"] = role;
  // One text needs no list, and tool results are always one text.
  if (keep_parts && role != "tool" && text->parts.size() > 1)
    out["content"] = text->parts;
  else
    out["content"] = text->joined();
  if (Status s = copy_text(message, "name", where, out); !s.ok()) return s;
  if (role == "tool")
    if (Status s = copy_text(message, "tool_call_id", where, out); !s.ok()) return s;
  if (role == "assistant")
    if (Status s = read_assistant(message, where, *text, out); !s.ok()) return s;
  return out;
}

// ---- system messages -----------------------------------------------------------------------------------------------
std::string system_text(const Json& content) {
  if (content.is_string()) return content.get<std::string>();
  MessageText text;
  text.parts = content;
  return text.joined();
}

void merge_into(Json& first, const Json& other) {
  Json& content = first["content"];
  if (!content.is_string()) content = system_text(content);
  std::string& text = content.get_ref<std::string&>();  // grows in place: there may be thousands
  const std::string more = system_text(other["content"]);
  if (!text.empty() && !more.empty()) text += "\n\n";
  text += more;
}

Json merge_system(Json messages, bool lenient) {
  Json out = Json::array();
  bool leading = true;
  for (Json& m : messages) {
    const bool system = m["role"] == "system";
    leading = leading && system;
    const bool has_first = !out.empty() && out[0]["role"] == "system";
    if (system && has_first && (leading || lenient))
      merge_into(out[0], m);
    else if (system && !out.empty() && lenient)
      out.insert(out.begin(), std::move(m));
    else
      out.push_back(std::move(m));
  }
  return out;
}

}  // namespace

Result<Json> normalize_messages(const Json& messages, const MessageRules& rules) {
  if (!messages.is_array() || messages.empty())
    return invalid_argument("messages must be an array with at least one message", "messages");
  Json out = Json::array();
  for (std::size_t i = 0; i < messages.size(); ++i) {
    Result<Json> m = read_message(messages[i], fmt::format("messages[{}]", i), rules.keep_parts);
    if (!m) return m.status();
    out.push_back(std::move(*m));
  }
  return merge_system(std::move(out), rules.lenient);
}

// ---- tools ---------------------------------------------------------------------------------------------------------
namespace {

Result<Json> read_tool(const Json& tool, const std::string& where) {
  if (!tool.is_object()) return invalid_argument(where + " must be an object", where);
  if (given(tool, "type") && tool["type"] != "function")
    return invalid_argument(fmt::format("{}.type is {}: only \"function\" is known", where, dump_json(tool["type"])),
                            where + ".type");
  const bool flat = !given(tool, "function") && given(tool, "name");  // as the Responses API writes it
  const std::string here = flat ? where : where + ".function";
  if (!flat && (!given(tool, "function") || !tool["function"].is_object()))
    return invalid_argument(here + " must be an object with a name", here);
  const Json& function = flat ? tool : tool["function"];
  const auto wrong = [&](const char* key, const char* expected) {
    return invalid_argument(fmt::format("{}.{} must be {}", here, key, expected), fmt::format("{}.{}", here, key));
  };
  if (!given(function, "name") || !function["name"].is_string() || function["name"] == "")
    return wrong("name", "a non-empty string");
  if (given(function, "description") && !function["description"].is_string()) return wrong("description", "a string");
  if (given(function, "parameters") && !function["parameters"].is_object())
    return wrong("parameters", "an object (a JSON schema)");
  if (given(function, "strict") && !function["strict"].is_boolean()) return wrong("strict", "a boolean");
  Json out = {{"name", function["name"]},
              {"description", function.value("description", Json())},
              {"parameters", function.value("parameters", Json())}};
  if (given(function, "strict")) out["strict"] = function["strict"];
  return Json{{"type", "function"}, {"function", std::move(out)}};
}

}  // namespace

Result<Json> normalize_tools(const Json& tools) {
  if (tools.is_null()) return Json();
  if (!tools.is_array()) return invalid_argument("tools must be an array", "tools");
  if (tools.empty()) return Json();
  Json out = Json::array();
  for (std::size_t i = 0; i < tools.size(); ++i) {
    Result<Json> tool = read_tool(tools[i], fmt::format("tools[{}]", i));
    if (!tool) return tool.status();
    out.push_back(std::move(*tool));
  }
  return out;
}

}  // namespace hearth
