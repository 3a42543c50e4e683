#include "server/api/chat_request.h"

#include "server/state.h"

namespace hearth {
namespace {

FieldSpec accepted(const char* name) { return {name, FieldType::any, FieldUse::accepted, "ignored"}; }

std::vector<FieldSpec> own_fields() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {
      {"max_tokens", FieldType::integer, FieldUse::read, "most tokens of the answer; default what the context leaves",
       "test_length_ends_with_length", 1, kInfinity},
      {"max_completion_tokens", FieldType::integer, FieldUse::read, "the newer name, which wins",
       "test_max_completion_tokens_wins", 1, kInfinity},
      {"logprobs", FieldType::boolean, FieldUse::read, "log-probabilities of the tokens", "test_chat_logprobs"},
      {"top_logprobs", FieldType::integer, FieldUse::read, "and of that many alternatives; needs logprobs",
       "test_chat_logprobs", -1, kInfinity},
      {"thinking_token_budget", FieldType::integer, FieldUse::read, "-1: none; a limit is not offered yet",
       "test_bad_fields_are_named", -1, kInfinity},
      {"include_reasoning", FieldType::boolean, FieldUse::accepted,
       "reasoning is not parsed out yet: the text holds it"},
      {"separate_reasoning", FieldType::any, FieldUse::accepted, "reasoning is not parsed out yet: the text holds it"},
      {"reasoning_format", FieldType::any, FieldUse::accepted, "reasoning is not parsed out yet: the text holds it"},
      accepted("parallel_tool_calls"),
      accepted("functions"),
      accepted("function_call"),
      accepted("safety_identifier"),
      accepted("prompt_cache_key"),
      accepted("prediction"),
      accepted("modalities"),
      accepted("audio"),
      accepted("web_search_options"),
      accepted("verbosity"),
  };
}

// {"type": "text"} asks for nothing; the table refuses any other.
void drop_text_format(Json& body) {
  const Json* format = field(body, "response_format");
  if (format && format->is_object() && text(*format, "type") == "text") body.erase("response_format");
}

std::string message_text(const Json& message) {
  const Json* content = field(message, "content");
  if (!content) return {};
  if (content->is_string()) return content->get<std::string>();
  std::string all;
  if (content->is_array())
    for (const Json& part : *content)
      if (part.is_object()) all += text(part, "text");
  return all;
}

Status read_logprobs(const Json& body, const ServerConfig& config, ChatRequest& r) {
  r.logprobs = flag(body, "logprobs");
  const auto top = integer(body, "top_logprobs");
  if (top && *top != 0 && !r.logprobs)
    return invalid_argument("top_logprobs needs logprobs to be true", "top_logprobs");
  if (!r.logprobs) return {};
  const Result<int> count = read_logprob_count(top.value_or(0), "top_logprobs", config);
  if (!count) return count.status();
  r.params.sampling.logprobs = r.top_logprobs = *count;
  return {};
}

}  // namespace

const FieldTable* chat_fields() {
  static const FieldTable table = join("chat", {chat_prompt_fields(), own_fields(), generation_fields()});
  return &table;
}

Result<ChatRequest> read_chat_request(const ServerState& state, Json& body) {
  drop_text_format(body);
  if (Status s = check_fields(body, *chat_fields()); !s.ok()) return s;
  const ServerConfig& config = state.config();
  ChatRequest r;
  Result<std::shared_ptr<ServedModel>> model = state.find_model(text(body, "model"));
  if (!model) return model.status();
  r.model = std::move(*model);
  if (integer(body, "thinking_token_budget").value_or(-1) != -1)
    return Status{Code::unimplemented, "thinking_token_budget: a limit on reasoning is not offered yet; use max_tokens",
                  "thinking_token_budget"};

  Result<GenerationParams> params = read_generation_params(body, *r.model, config);
  if (!params) return params.status();
  r.params = std::move(*params);
  r.params.max_tokens = integer(body, "max_completion_tokens");
  if (!r.params.max_tokens) r.params.max_tokens = integer(body, "max_tokens");
  if (Status s = read_logprobs(body, config, r); !s.ok()) return s;

  Result<ChatPrompt> prompt = make_chat_prompt(body, *r.model, config, &r.params);
  if (!prompt) return prompt.status();
  r.prompt = std::move(*prompt);
  if (Status s = truncate_prompt(body, r.params, *r.model, r.prompt.ids); !s.ok()) return s;
  if (r.prompt.ids.empty()) return invalid_argument("the prompt holds no token", "messages");
  const Result<int> max_tokens = resolve_max_tokens(r.params, std::nullopt, r.prompt.ids.size(), *r.model, config);
  if (!max_tokens) return max_tokens.status();
  r.max_tokens = *max_tokens;

  const Json& last = field(body, "messages")->back();
  r.role = flag(body, "continue_final_message") ? text(last, "role") : config.response_role;
  if (r.params.echo && text(last, "role") == r.role) r.echo_text = message_text(last);
  return r;
}

}  // namespace hearth
