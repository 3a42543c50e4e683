// content_parts.cpp — the spellings of a content part.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "text/messages.h"

namespace hearth {
namespace {

// type, and the key that holds its text.
struct TextPart {
  std::string_view type, key;
};
constexpr std::array<TextPart, 4> kText = {
    {{"text", "text"}, {"input_text", "text"}, {"output_text", "text"}, {"refusal", "refusal"}}};
constexpr std::array<TextPart, 3> kReasoning = {
    {{"thinking", "thinking"}, {"reasoning", "text"}, {"reasoning_text", "text"}}};
constexpr std::array<std::string_view, 15> kMedia = {
    "image_url", "image", "input_image", "image_embeds", "image_pil",     "video_url", "video",     "input_video",
    "audio_url", "audio", "input_audio", "audio_embeds", "prompt_embeds", "file",      "input_file"};

template <class T>
const TextPart* find(const T& table, std::string_view type) {
  for (const TextPart& p : table)
    if (p.type == type) return &p;
  return nullptr;
}

// A part may leave its type out when one of its keys tells it.
std::string type_of(const Json& part) {
  if (const auto it = part.find("type"); it != part.end() && it->is_string()) return it->get<std::string>();
  for (const char* key :
       {"text", "refusal", "thinking", "image_url", "image", "video_url", "video", "audio_url", "input_audio"})
    if (part.contains(key)) return key;
  return {};
}

Status unknown_type(const std::string& type, const std::string& where) {
  return invalid_argument(
      fmt::format("{} has {}; known are text, input_text, output_text, refusal, thinking, reasoning, tool_reference",
                  where, type.empty() ? "no type" : "unknown type '" + type + "'"),
      where + ".type");
}

Result<std::string> text_at(const Json& part, std::string_view key, const std::string& where) {
  const std::string name(key);
  if (!part.contains(name) || !part[name].is_string())
    return invalid_argument(fmt::format("{}.{} must be a string", where, key), fmt::format("{}.{}", where, key));
  return part[name].get<std::string>();
}

}  // namespace

std::string MessageText::joined() const {
  std::string out;
  bool first = true;
  for (const Json& part : parts) {
    const auto text = part.find("text");
    if (text == part.end() || !text->is_string()) continue;  // a reference to a tool has none
    if (!first) out += '\n';
    first = false;
    out += text->get_ref<const std::string&>();
  }
  return out;
}

Result<MessageText> read_content(const Json& content, const std::string& where, bool is_assistant) {
  MessageText out;
  const auto add = [&](std::string text) { out.parts.push_back(Json{{"type", "text"}, {"text", std::move(text)}}); };
  if (content.is_null()) return out;
  if (content.is_string()) {
    add(content.get<std::string>());
    return out;
  }
  if (!content.is_array())
    return invalid_argument(
        fmt::format("{} must be a string, null or an array of parts, not {}", where, content.type_name()), where);
  for (std::size_t i = 0; i < content.size(); ++i) {
    const Json& part = content[i];
    const std::string here = fmt::format("{}[{}]", where, i);
    if (part.is_string()) {
      add(part.get<std::string>());
      continue;
    }
    if (!part.is_object()) return invalid_argument(here + " must be an object with a type", here);
    const std::string type = type_of(part);
    if (std::find(kMedia.begin(), kMedia.end(), type) != kMedia.end())
      return invalid_argument(fmt::format("{} is of type '{}': this model is served text only", here, type), here);
    if (type == "tool_reference") {
      out.parts.push_back(part);
      continue;
    }
    const TextPart* as_text = find(kText, type);
    const TextPart* as_reasoning = find(kReasoning, type);
    if (!as_text && !as_reasoning) return unknown_type(type, here);
    std::string_view key = as_text ? as_text->key : as_reasoning->key;
    if (type == "reasoning" && !part.contains("text") && part.contains("reasoning")) key = "reasoning";
    Result<std::string> text = text_at(part, key, here);
    if (!text) return text.status();
    if (as_text || !is_assistant) {
      add(std::move(*text));
    } else {
      if (out.has_reasoning) out.reasoning += '\n';
      out.reasoning += *text;
      out.has_reasoning = true;
    }
  }
  return out;
}

}  // namespace hearth
