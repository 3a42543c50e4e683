#include "text/chat_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/status.h"
#include "text/jinja/from_json.h"
#include "text/jinja/interp.h"
#include "text/jinja/parser.h"

namespace hearth {
namespace {

using jinja::Origin;

// What the caller's kwargs may not replace.
constexpr std::array<std::string_view, 5> kReserved = {"messages", "tools", "documents", "add_generation_prompt",
                                                       "continue_final_message"};

jinja::Template parse_or_refuse(const std::string& source) {
  try {
    return jinja::parse(source);
  } catch (const jinja::Error& e) {
    throw StartupError(fmt::format("the chat template cannot be used: line {}: {}", e.line, e.message), "chat template",
                       "correct that line, or give another template with --chat-template");
  }
}

Status status_of(const jinja::Error& e) {
  if (e.kind == "raise_exception") return invalid_argument(e.message, "messages");
  return invalid_argument(fmt::format("{}: {} (chat template, line {})", e.kind, e.message, e.line), "messages");
}

std::size_t text_bytes(const Json& json) {
  if (json.is_string()) return json.get_ref<const std::string&>().size();
  std::size_t n = 8;
  if (json.is_structured())
    for (const Json& j : json) n += text_bytes(j);
  return n;
}

// ---- continue_final_message ----------------------------------------------------------------------------------------
// A word put behind the last message shows where its text ends in the rendering; all from there on is cut off.
std::string end_word(const Json& messages) {
  const std::string all = dump_json(messages);
  std::string word = "HEARTH_END_OF_FINAL_MESSAGE";
  for (int i = 0; all.find(word) != std::string::npos; ++i) word = fmt::format("HEARTH_END_OF_FINAL_MESSAGE_{}", i);
  return word + " ";
}

Status append_end_word(Json& messages, const std::string& word) {
  const std::string where = fmt::format("messages[{}].content", messages.empty() ? 0 : messages.size() - 1);
  if (!messages.is_array() || messages.empty() || !messages.back().is_object() || !messages.back().contains("content"))
    return invalid_argument("continue_final_message needs a final message with content", where);
  Json& content = messages.back()["content"];
  Json* text = content.is_string() ? &content : nullptr;
  if (content.is_array())
    for (Json& part : content)
      if (part.is_object() && part.contains("text") && part["text"].is_string()) text = &part["text"];
  if (!text) return invalid_argument("continue_final_message needs a final message with text", where);
  *text = text->get<std::string>() + word;
  return {};
}

Status cut_at_end_word(jinja::Str& out, const std::string& word, jinja::Budget& budget) {
  const std::string_view bare = std::string_view(word).substr(0, word.size() - 1);
  const std::size_t at = out.text.rfind(bare);
  if (at == std::string::npos)
    return invalid_argument(
        "continue_final_message is set, but the chat template does not write the final message as it is", "messages");
  const bool trimmed = out.text.compare(at, word.size(), word) != 0;  // then the template trims contents, and so do we
  out = jinja::slice_bytes(out, 0, at, budget);
  if (trimmed) out = jinja::strip(out, jinja::Side::right, std::nullopt, budget);
  return {};
}

}  // namespace

struct ChatTemplate::Impl {
  std::string source;
  Json special_tokens;
  RenderLimits limits;
  jinja::Template parsed;
  bool content_parts = false;

  Result<MarkedText> render(const RenderInput& input) const;
};

Result<MarkedText> ChatTemplate::Impl::render(const RenderInput& input) const {
  for (const Json* kwargs : {&input.kwargs, &input.request_kwargs}) {
    if (kwargs->is_null()) continue;
    if (!kwargs->is_object()) return invalid_argument("chat_template_kwargs must be an object", "chat_template_kwargs");
    for (const std::string_view name : kReserved)
      if (kwargs->contains(name))
        return invalid_argument(fmt::format("chat_template_kwargs may not set '{}': it has its own field", name),
                                "chat_template_kwargs");
  }
  if (input.continue_final_message && input.add_generation_prompt)
    return invalid_argument("continue_final_message and add_generation_prompt exclude each other",
                            "continue_final_message");
  try {
    const auto input_bytes =
        static_cast<std::int64_t>(text_bytes(input.messages) + text_bytes(input.tools) + text_bytes(input.documents));
    jinja::Interp interp(jinja::Budget(limits.steps + 8 * input_bytes, limits.bytes + 64 * input_bytes));
    std::string word;
    if (input.continue_final_message) {
      Json messages = input.messages;
      word = end_word(messages);
      if (Status s = append_end_word(messages, word); !s.ok()) return s;
      interp.set_variable("messages", from_json(messages, Origin::messages));
    } else {
      interp.set_variable("messages", from_json(input.messages, Origin::messages));
    }
    interp.set_variable("tools", from_json(input.tools, Origin::request));
    interp.set_variable("documents", from_json(input.documents, Origin::request));
    interp.set_variable("add_generation_prompt", jinja::Value(input.add_generation_prompt));
    const auto set_all = [&](const Json& values, Origin origin) {
      if (values.is_object())
        for (const auto& [name, value] : values.items()) interp.set_variable(name, from_json(value, origin));
    };
    set_all(special_tokens, Origin::server);
    set_all(input.kwargs, Origin::server);
    set_all(input.request_kwargs, Origin::request);
    jinja::Str out = interp.render(parsed);
    if (input.continue_final_message)
      if (Status s = cut_at_end_word(out, word, interp.budget); !s.ok()) return s;
    return MarkedText{std::move(out.text), std::move(out.marks)};
  } catch (const jinja::Error& e) {
    return status_of(e);
  }
}

namespace {

constexpr std::int64_t kProbeSteps = 200'000, kProbeBytes = 1 << 20;

// Lists of parts are for templates that take them wherever they take a string: user, system and assistant contents.
bool takes_parts(const auto& render) {
  const auto turn = [](const char* role, bool parts) {
    const std::string word = fmt::format("hearthprobe{}", role);
    const Json text = parts ? Json::array({Json{{"type", "text"}, {"text", word}}}) : Json(word);
    return Json{{"role", role}, {"content", text}};
  };
  const auto shows = [&](const Json& messages, const char* role) {
    RenderInput input;
    input.messages = messages;
    const auto out = render(input);
    if (!out) return false;
    for (const char* spelled : {"'text'", "\"text\"", "&#39;text"})
      if (out->text.find(spelled) != std::string::npos) return false;
    return out->text.find(fmt::format("hearthprobe{}", role)) != std::string::npos;
  };
  if (!shows(Json::array({turn("user", true)}), "user")) return false;
  const auto fits = [&](const char* role, const Json& with_string, const Json& with_parts) {
    return !shows(with_string, role) || shows(with_parts, role);
  };
  return fits("system", Json::array({turn("system", false), turn("user", false)}),
              Json::array({turn("system", true), turn("user", false)})) &&
         fits("assistant", Json::array({turn("user", false), turn("assistant", false), turn("user", false)}),
              Json::array({turn("user", false), turn("assistant", true), turn("user", false)}));
}

}  // namespace

ChatTemplate::ChatTemplate(std::string source, Json special_tokens, RenderLimits limits)
    : impl_(std::make_unique<Impl>()) {
  impl_->parsed = parse_or_refuse(source);
  impl_->source = std::move(source);
  impl_->special_tokens = std::move(special_tokens);
  // One or two short messages: a template that takes long over them is not asked the rest.
  impl_->limits = {std::min(limits.steps, kProbeSteps), std::min(limits.bytes, kProbeBytes)};
  impl_->content_parts = takes_parts([this](const RenderInput& input) { return impl_->render(input); });
  impl_->limits = limits;
}
ChatTemplate::~ChatTemplate() = default;
ChatTemplate::ChatTemplate(ChatTemplate&&) noexcept = default;

Result<MarkedText> ChatTemplate::render(const RenderInput& input) const { return impl_->render(input); }
const std::string& ChatTemplate::source() const { return impl_->source; }
bool ChatTemplate::wants_content_parts() const { return impl_->content_parts; }

}  // namespace hearth
