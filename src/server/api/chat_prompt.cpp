#include "server/api/chat_prompt.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "base/status.h"

namespace hearth {
namespace {

constexpr std::array<std::string_view, 7> kEfforts = {"none", "minimal", "low", "medium", "high", "xhigh", "max"};
constexpr std::size_t kMostKwargs = 256;
constexpr std::array<std::string_view, 8> kReserved = {
    "messages",      "tools",           "documents",   "add_generation_prompt", "continue_final_message",
    "chat_template", "raise_exception", "strftime_now"};

// Pictures and the like are refused here, by name; other unknown parts by the message rules.
Status refuse_media(const Json& messages) {
  static constexpr std::array<std::string_view, 8> kMedia = {"image_url", "input_image", "image_embeds",  "video_url",
                                                             "audio_url", "input_audio", "prompt_embeds", "file"};
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Json* content = messages[i].is_object() ? field(messages[i], "content") : nullptr;
    if (!content || !content->is_array()) continue;
    for (const Json& part : *content) {
      if (!part.is_object()) continue;
      for (const std::string_view kind : kMedia)
        if (text(part, "type") == kind || (!part.contains("type") && part.contains(kind)))
          return {Code::unimplemented,
                  fmt::format("messages[{}]: a content part of type {} is not supported: this server takes text only",
                              i, kind),
                  "messages"};
    }
  }
  return {};
}

// Tools come with a later version. An empty list is what many clients send for none.
Status check_tools(const Json& body, bool lenient) {
  const Json* tools = field(body, "tools");
  if (tools && !tools->empty())
    return {Code::unimplemented, "tools: tool calls are not offered by this server yet; send the request without tools",
            "tools"};
  if (tools && !lenient)
    return invalid_argument(
        "tools must not be an empty list (leave it out, or start the server with --lenient-messages)", "tools");
  const Json* choice = field(body, "tool_choice");
  if (!choice || *choice == "none" || tools) return {};
  if (choice->is_object() || *choice == "auto" || *choice == "required")
    return invalid_argument("tool_choice needs tools", "tool_choice");
  return invalid_argument(
      fmt::format("tool_choice must be none, auto, required or a named function, got {}", dump_json(*choice)),
      "tool_choice");
}

// chat_template_kwargs over the server's, then the spellings of other servers where no explicit kwarg says otherwise.
Result<Json> template_kwargs(const Json& body, const ServedModel& model) {
  Json kwargs = model.default_chat_template_kwargs;
  bool explicit_thinking = false;
  if (const Json* given = field(body, "chat_template_kwargs")) {
    if (given->size() > kMostKwargs)
      return invalid_argument(
          fmt::format("chat_template_kwargs holds {} names, the limit is {}", given->size(), kMostKwargs),
          "chat_template_kwargs");
    for (const auto& [key, value] : given->items()) {
      for (const std::string_view reserved : kReserved)
        if (key == reserved)
          return invalid_argument(fmt::format("chat_template_kwargs may not set {}", key), "chat_template_kwargs");
      kwargs[key] = value;
    }
    explicit_thinking = given->contains("enable_thinking");
  }
  const auto thinking = [&](bool on) {
    if (!explicit_thinking) kwargs["enable_thinking"] = on;
  };
  if (const Json* v = field(body, "thinking"); v && v->is_object()) {
    if (text(*v, "type") == "enabled") thinking(true);
    if (text(*v, "type") == "disabled") thinking(false);
  }
  if (const Json* v = field(body, "enable_thinking")) thinking(v->get<bool>());
  std::string effort = text(body, "reasoning_effort");
  if (const Json* v = field(body, "reasoning"); effort.empty() && v && v->is_object()) effort = text(*v, "effort");
  if (!effort.empty()) {
    if (std::find(kEfforts.begin(), kEfforts.end(), effort) == kEfforts.end())
      return invalid_argument(
          fmt::format("reasoning_effort must be one of {}, got '{}'", fmt::join(kEfforts, ", "), effort),
          "reasoning_effort");
    thinking(effort != "none");
    if (!kwargs.contains("reasoning_effort")) kwargs["reasoning_effort"] = effort;
  }
  return kwargs;
}

Json special_tokens(const Tokenizer& tokenizer) {
  Json tokens = Json::object();
  const auto add = [&](const char* name, std::optional<std::int32_t> id) {
    if (id) tokens[name] = std::string(tokenizer.spelling(*id));
  };
  add("bos_token", tokenizer.bos_id());
  add("eos_token", tokenizer.eos_id());
  add("pad_token", tokenizer.pad_id());
  return tokens;
}

}  // namespace

std::vector<FieldSpec> chat_prompt_fields() {
  return {
      {"messages", FieldType::array, FieldUse::read, "the conversation", "test_chat"},
      {"documents", FieldType::array, FieldUse::read, "documents for the template",
       "test_documents_reach_the_template"},
      {"add_generation_prompt", FieldType::boolean, FieldUse::read, "open the assistant's turn; default true",
       "test_continue_final_message"},
      {"continue_final_message", FieldType::boolean, FieldUse::read, "leave the last message open",
       "test_continue_final_message"},
      {"chat_template", FieldType::string, FieldUse::read,
       "a template instead of the model's; needs --trust-request-chat-template", "test_request_chat_template"},
      {"chat_template_kwargs", FieldType::object, FieldUse::read, "variables for the template",
       "test_thinking_switches"},
      {"reasoning_effort", FieldType::string, FieldUse::read,
       "none turns thinking off; the word is passed to the template", "test_thinking_switches"},
      {"reasoning", FieldType::any, FieldUse::read, "{effort} as reasoning_effort", "test_thinking_switches"},
      {"enable_thinking", FieldType::boolean, FieldUse::read, "as chat_template_kwargs.enable_thinking",
       "test_thinking_switches"},
      {"thinking", FieldType::any, FieldUse::read, "{type: enabled|disabled}", "test_thinking_switches"},
      {"tools", FieldType::array, FieldUse::read, "must be empty: tool calls are not offered yet",
       "test_bad_fields_are_named"},
      {"tool_choice", FieldType::any, FieldUse::read, "none", "test_bad_fields_are_named"},
      {"mm_processor_kwargs", FieldType::any, FieldUse::accepted, "for pictures"},
      {"media_io_kwargs", FieldType::any, FieldUse::accepted, "for pictures"},
  };
}

Result<ChatPrompt> make_chat_prompt(const Json& body, const ServedModel& model, const ServerConfig& config,
                                    const GenerationParams* to_fit) {
  const Json* messages = field(body, "messages");
  if (!messages) return malformed("messages is required", "body.messages");
  if (messages->empty()) return invalid_argument("messages must hold at least one message", "messages");
  if (Status s = refuse_media(*messages); !s.ok()) return s;
  if (Status s = check_tools(body, config.lenient_messages); !s.ok()) return s;

  RenderInput input;
  input.continue_final_message = flag(body, "continue_final_message");
  input.add_generation_prompt = flag(body, "add_generation_prompt", !input.continue_final_message);
  if (input.continue_final_message && input.add_generation_prompt)
    return invalid_argument("continue_final_message and add_generation_prompt cannot both be true",
                            "continue_final_message");
  if (const Json* documents = field(body, "documents")) input.documents = *documents;
  Result<Json> kwargs = template_kwargs(body, model);
  if (!kwargs) return kwargs.status();
  input.kwargs = std::move(*kwargs);

  std::unique_ptr<ChatTemplate> own;
  const ChatTemplate* chat_template = model.chat_template.get();
  if (const Json* source = field(body, "chat_template")) {
    if (!config.trust_request_chat_template)
      return invalid_argument("chat_template in a request needs the server's flag --trust-request-chat-template",
                              "chat_template");
    try {
      own = std::make_unique<ChatTemplate>(source->get<std::string>(), special_tokens(*model.tokenizer));
    } catch (const StartupError& e) {
      return invalid_argument(std::string("chat_template: ") + e.what(), "chat_template");
    }
    chat_template = own.get();
  }
  if (!chat_template)
    return invalid_argument(
        "this model has no chat template: use /v1/completions, or start the server with --chat-template", "messages");

  Result<Json> normal = normalize_messages(*messages, {config.lenient_messages, chat_template->wants_content_parts()});
  if (!normal) return normal.status();
  input.messages = std::move(*normal);
  Result<MarkedText> rendered = chat_template->render(input);
  if (!rendered) return rendered.status();
  if (to_fit)
    if (Status s = check_prompt_length(rendered->text, body, *to_fit, model); !s.ok()) return s;

  ChatPrompt prompt;
  const bool add_special = flag(body, "add_special_tokens", false);
  prompt.ids = config.special_tokens_parse ? model.tokenizer->encode(rendered->text, {add_special, true})
                                           : model.tokenizer->encode(*rendered, add_special);
  prompt.text = std::move(rendered->text);
  return prompt;
}

}  // namespace hearth
