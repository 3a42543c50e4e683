#include "cli/chat_session.h"

#include <algorithm>

namespace hearth {

ChatSession::ChatSession(Engine& engine, ModelText text, SamplingDefaults defaults, std::atomic<bool>& interrupted)
    : engine_(engine),
      text_(std::move(text)),
      end_tokens_(text_.end_tokens),
      interrupted_(interrupted),
      parameters_(std::move(defaults.sampling)) {
  for (std::int32_t id : defaults.end_tokens)
    if (std::find(end_tokens_.begin(), end_tokens_.end(), id) == end_tokens_.end()) end_tokens_.push_back(id);
}

Result<std::vector<std::int32_t>> ChatSession::prompt_of(const Json& messages) const {
  if (!text_.chat_template)
    return text_.tokenizer->encode(messages.back()["content"].get<std::string>(),
                                   {.add_special = true, .parse_special = false});
  RenderInput input;
  Result<Json> normal =
      normalize_messages(messages, {.lenient = true, .keep_parts = text_.chat_template->wants_content_parts()});
  if (!normal) return normal.status();
  input.messages = *std::move(normal);
  Result<MarkedText> rendered = text_.chat_template->render(input);
  if (!rendered) return rendered.status();
  return text_.tokenizer->encode(*rendered, false);
}

Generated ChatSession::say(const std::string& text, const std::function<void(std::string_view)>& on_text) {
  Json messages = messages_;
  if (messages.empty() && !system_.empty()) messages.push_back({{"role", "system"}, {"content", system_}});
  messages.push_back({{"role", "user"}, {"content", text}});
  Result<std::vector<std::int32_t>> prompt = prompt_of(messages);
  if (!prompt) {
    Generated failed;
    failed.finish = FinishReason::error;
    failed.error = prompt.status();
    return failed;
  }
  std::string answer;
  const Generated out = generate(
      engine_, *text_.tokenizer, *std::move(prompt), end_tokens_, parameters_,
      [&](std::string_view piece) {
        answer += piece;
        on_text(piece);
      },
      interrupted_);
  if (out.finish != FinishReason::error) {
    messages.push_back({{"role", "assistant"}, {"content", answer}});
    messages_ = std::move(messages);
  }
  return out;
}

void ChatSession::clear() { messages_ = Json::array(); }

void ChatSession::set_system(std::string text) {
  system_ = std::move(text);
  clear();
}

Status ChatSession::set_parameter(const std::string& name, const std::string& value) {
  Result<Json> parsed = parse_parameter(name, value);
  if (!parsed) return parsed.status();
  if (name == "stop" && parameters_.contains("stop") && parameters_["stop"].is_array())
    parameters_["stop"].push_back(*parsed);
  else if (name == "stop")
    parameters_["stop"] = Json::array({*parsed});
  else
    parameters_[name] = *parsed;
  return {};
}

}  // namespace hearth
