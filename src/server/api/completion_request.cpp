#include "server/api/completion_request.h"

#include <fmt/format.h>

#include "server/state.h"

namespace hearth {
namespace {

constexpr std::int64_t kDefaultMaxTokens = 16;

std::vector<FieldSpec> own_fields() {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return {
      {.name = "prompt",
       .type = FieldType::any,
       .doc = "text, token ids, or an array of either",
       .test = "test_lists_of_prompts",
       .required = true},
      {"max_tokens", FieldType::integer, FieldUse::read, "most tokens of an answer, default 16; 0 only with echo",
       "test_completion_with_logprobs_and_echo", 0, kInfinity},
      {"logprobs", FieldType::integer, FieldUse::read, "0: of the chosen tokens; k: and the k best",
       "test_completion_with_logprobs_and_echo", -1, kInfinity},
      {"suffix", FieldType::any, FieldUse::refused, "filling in the middle is not offered"},
  };
}

bool is_ids(const Json& value) { return value.is_array() && !value.empty() && value.front().is_number(); }

// "text" | [ids] | ["text"…] | [[ids]…], mixed lists too.
Status read_prompts(const Json& body, const ServerConfig& config, CompletionRequest& r) {
  const Json& prompt = *field(body, "prompt");
  const bool single = prompt.is_string() || is_ids(prompt);
  const Json alone = single ? Json::array({prompt}) : Json();
  const Json& list = single ? alone : prompt;
  if (!list.is_array())
    return malformed("prompt must be a string, an array of token ids, or an array of either", "body.prompt");
  if (list.empty()) return invalid_argument("prompt must not be an empty array", "prompt");
  if (static_cast<int>(list.size()) > config.max_completion_prompts)
    return invalid_argument(
        fmt::format("prompt holds {} prompts, the limit is {}", list.size(), config.max_completion_prompts), "prompt");
  if (const auto answers = static_cast<std::int64_t>(list.size()) * r.params.n; answers > config.max_n)
    return invalid_argument(fmt::format("{} prompts with n {} are {} answers, the limit is {}", list.size(), r.params.n,
                                        answers, config.max_n),
                            "n");
  const bool add_special = flag(body, "add_special_tokens", true);
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::vector<std::int32_t> ids;
    std::string text_of;
    if (list[i].is_string()) {
      text_of = list[i].get<std::string>();
      if (Status s = check_prompt_length(text_of, body, r.params, *r.model); !s.ok()) return s;
      ids = r.model->tokenizer->encode(text_of, {add_special, true});
    } else if (is_ids(list[i])) {
      Result<std::vector<std::int32_t>> given = token_ids(list[i], "prompt", r.model->vocab_size);
      if (!given) return given.status();
      ids = std::move(*given);
      if (r.params.echo) text_of = r.model->tokenizer->decode(ids, r.params.skip_special);
    } else if (list[i].is_array() && list[i].empty()) {
      return invalid_argument(fmt::format("prompt {} holds no token", i), "prompt");
    } else {
      return malformed(
          fmt::format("prompt[{}] must be a string or an array of token ids, got {}", i, list[i].type_name()),
          fmt::format("body.prompt.{}", i));
    }
    if (Status s = truncate_prompt(body, r.params, *r.model, ids); !s.ok()) return s;
    if (ids.empty())
      return invalid_argument(fmt::format("prompt {} becomes no token: it must hold at least one", i), "prompt");
    r.prompts.push_back(std::move(ids));
    r.prompt_texts.push_back(std::move(text_of));
  }
  return {};
}

Status read_logprobs(const Json& body, const ServerConfig& config, CompletionRequest& r) {
  SamplingParams& s = r.params.sampling;
  r.own_prompt_logprobs = s.prompt_logprobs >= 0;
  if (const auto k = integer(body, "logprobs")) {
    const Result<int> count = read_logprob_count(*k, "logprobs", config);
    if (!count) return count.status();
    s.logprobs = r.logprobs = *count;
  }
  if (r.params.echo && r.logprobs >= 0) s.prompt_logprobs = std::max(s.prompt_logprobs, r.logprobs);
  return {};
}

}  // namespace

const FieldTable* completion_fields() {
  static const FieldTable table = join("completion", {own_fields(), generation_fields()});
  return &table;
}

Result<CompletionRequest> read_completion_request(const ServerState& state, Json& body) {
  if (const Json* format = field(body, "response_format");
      format && format->is_object() && text(*format, "type") == "text")
    body.erase("response_format");
  if (Status s = check_fields(body, *completion_fields()); !s.ok()) return s;
  const ServerConfig& config = state.config();
  CompletionRequest r;
  Result<std::shared_ptr<ServedModel>> model = state.find_model(text(body, "model"));
  if (!model) return model.status();
  r.model = std::move(*model);
  Result<GenerationParams> params = read_generation_params(body, *r.model, config);
  if (!params) return params.status();
  r.params = std::move(*params);
  r.params.max_tokens = integer(body, "max_tokens").value_or(kDefaultMaxTokens);
  if (!integer(body, "max_tokens")) {
    // The default must not make a long prompt fail: what is left counts.
    r.params.max_tokens.reset();
  } else if (*r.params.max_tokens == 0 && !r.params.echo) {
    return invalid_argument("max_tokens must be at least 1 (0 is for echo)", "max_tokens");
  }
  if (Status s = read_logprobs(body, config, r); !s.ok()) return s;
  if (Status s = read_prompts(body, config, r); !s.ok()) return s;
  // Nothing to generate: the engine computes the prompt for its log-probabilities.
  if (r.params.max_tokens == 0) r.params.sampling.prompt_logprobs = std::max(r.params.sampling.prompt_logprobs, 0);
  for (const auto& ids : r.prompts) {
    const Result<int> max_tokens = resolve_max_tokens(r.params, kDefaultMaxTokens, ids.size(), *r.model, config);
    if (!max_tokens) return max_tokens.status();
    r.max_tokens.push_back(*max_tokens);
  }
  return r;
}

}  // namespace hearth
