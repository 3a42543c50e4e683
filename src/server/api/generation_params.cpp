#include "server/api/generation_params.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hearth {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBiasLimit = 100;
constexpr double kLowestTemperature = 0.01;  // below it the softmax of float32 logits says little else than greedy

FieldSpec ranged(const char* name, FieldType type, double min, double max, const char* doc, const char* test) {
  return {name, type, FieldUse::read, doc, test, min, max};
}
FieldSpec read(const char* name, FieldType type, const char* doc, const char* test) {
  return {name, type, FieldUse::read, doc, test};
}
FieldSpec accepted(const char* name, const char* doc) { return {name, FieldType::any, FieldUse::accepted, doc}; }
FieldSpec refused(const char* name, const char* why) { return {name, FieldType::any, FieldUse::refused, why}; }

double number_or(const Json& body, const Json& defaults, const char* name, double otherwise) {
  if (const auto v = number(body, name)) return *v;
  return number(defaults, name).value_or(otherwise);
}

Status read_stop(const Json& body, const ServerConfig& config, GenerationParams& p) {
  const Json* stop = field(body, "stop");
  if (!stop) return {};
  const Json list = stop->is_array() ? *stop : Json::array({*stop});
  if (static_cast<int>(list.size()) > config.max_stop_strings)
    return invalid_argument(fmt::format("stop holds {} strings, the limit is {}", list.size(), config.max_stop_strings),
                            "stop");
  for (const Json& s : list) {
    if (!s.is_string()) return malformed("stop must be a string or an array of strings", "body.stop");
    if (s.get_ref<const std::string&>().empty()) return invalid_argument("stop must not hold an empty string", "stop");
    p.stop.push_back(s.get<std::string>());
  }
  return {};
}

Status read_logit_bias(const Json& body, const ServedModel& model, SamplingParams& s) {
  const Json* bias = field(body, "logit_bias");
  if (!bias) return {};
  for (const auto& [key, value] : bias->items()) {
    std::int32_t id = 0;
    const auto [end, ec] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (ec != std::errc() || end != key.data() + key.size() || id < 0 || id >= model.vocab_size)
      return invalid_argument(
          fmt::format("logit_bias: '{}' is no token id of this model (0 to {})", key, model.vocab_size - 1),
          "logit_bias");
    if (!value.is_number())
      return malformed(fmt::format("logit_bias: the value of '{}' must be a number", key), "body.logit_bias");
    s.logit_bias.emplace_back(id, static_cast<float>(std::clamp(value.get<double>(), -kBiasLimit, kBiasLimit)));
  }
  return {};
}

// Each word as it may stand at the start of a text and after a space.
Status read_bad_words(const Json& body, const ServedModel& model, const ServerConfig& config, SamplingParams& s) {
  const Json* words = field(body, "bad_words");
  if (!words) return {};
  if (static_cast<int>(words->size()) > config.max_bad_words)
    return invalid_argument(
        fmt::format("bad_words holds {} words, the limit is {}", words->size(), config.max_bad_words), "bad_words");
  for (const Json& word : *words) {
    if (!word.is_string()) return malformed("bad_words must be an array of strings", "body.bad_words");
    std::string bare = word.get<std::string>();
    bare.erase(0, std::min(bare.find_first_not_of(' '), bare.size()));
    if (bare.empty()) return invalid_argument("bad_words must not hold an empty word", "bad_words");
    for (const std::string& spelled : {bare, " " + bare}) {
      std::vector<std::int32_t> ids = model.tokenizer->encode(spelled, {false, false});
      if (!ids.empty() && std::find(s.bad_words.begin(), s.bad_words.end(), ids) == s.bad_words.end())
        s.bad_words.push_back(std::move(ids));
    }
  }
  return {};
}

Status read_ids(const Json& body, const char* name, const ServedModel& model, bool empty_allowed,
                std::vector<std::int32_t>& out) {
  const Json* value = field(body, name);
  if (!value) return {};
  Result<std::vector<std::int32_t>> ids = token_ids(*value, name, model.vocab_size);
  if (!ids) return ids.status();
  if (ids->empty() && !empty_allowed) return invalid_argument(fmt::format("{} must not be empty", name), name);
  out = std::move(*ids);
  return {};
}

void read_numbers(const Json& body, const Json& defaults, SamplingParams& s, std::int32_t vocab_size) {
  const double temperature = number_or(body, defaults, "temperature", 1.0);
  s.temperature =
      static_cast<float>(temperature >= 1e-5 && temperature < kLowestTemperature ? kLowestTemperature : temperature);
  s.top_p = static_cast<float>(number_or(body, defaults, "top_p", 1.0));
  const double top_k = number_or(body, defaults, "top_k", 0);
  s.top_k = top_k <= 0 || top_k >= vocab_size ? 0 : static_cast<int>(top_k);
  s.min_p = static_cast<float>(number_or(body, defaults, "min_p", 0));
  if (s.greedy()) {
    s.top_p = 1;
    s.top_k = 0;
    s.min_p = 0;
  }
  s.presence_penalty = static_cast<float>(number_or(body, defaults, "presence_penalty", 0));
  s.frequency_penalty = static_cast<float>(number_or(body, defaults, "frequency_penalty", 0));
  // Beyond these logits would become infinite; they are as good as decided long before.
  s.repetition_penalty = static_cast<float>(std::clamp(number_or(body, defaults, "repetition_penalty", 1), 1e-6, 1e6));
  if (const auto seed = integer(body, "seed"); seed && *seed != -1) s.seed = *seed;
}

Status read_streaming(const Json& body, const ServerConfig& config, GenerationParams& p) {
  p.stream = flag(body, "stream");
  p.stream_interval = static_cast<int>(
      std::min<std::int64_t>(integer(body, "stream_interval").value_or(config.stream_interval), 1 << 20));
  const Json* options = field(body, "stream_options");
  if (options && !p.stream) return invalid_argument("stream_options needs stream to be true", "stream_options");
  if (options) {
    for (const char* name : {"include_usage", "continuous_usage_stats"})
      if (const Json* v = field(*options, name); v && !v->is_boolean())
        return malformed(fmt::format("stream_options.{} must be a boolean, got {}", name, v->type_name()),
                         fmt::format("body.stream_options.{}", name));
    p.include_usage = flag(*options, "include_usage");
    p.continuous_usage = p.include_usage && flag(*options, "continuous_usage_stats");
  }
  if (p.stream && config.force_include_usage) p.include_usage = p.continuous_usage = true;
  return {};
}

}  // namespace

std::vector<FieldSpec> generation_fields() {
  using T = FieldType;
  const char* const limits = "test_bad_fields_are_named";
  return {
      read("model", T::string, "a served name; absent or empty: the first", limits),
      ranged("n", T::integer, 1, kInfinity, "number of answers", "test_three_choices_with_a_seed"),
      ranged("temperature", T::number, 0, 2, "0: greedy", "test_three_choices_with_a_seed"),
      ranged("top_p", T::number, std::numeric_limits<double>::min(), 1, "nucleus", "test_narrow_sampling_is_greedy"),
      ranged("top_k", T::integer, -1, kInfinity, "0 and -1: off", "test_narrow_sampling_is_greedy"),
      ranged("min_p", T::number, 0, 1, "least share of the best token's probability", "test_narrow_sampling_is_greedy"),
      ranged("presence_penalty", T::number, -2, 2, "over output tokens", "test_penalties_change_the_text"),
      ranged("frequency_penalty", T::number, -2, 2, "over output tokens", "test_penalties_change_the_text"),
      ranged("repetition_penalty", T::number, std::numeric_limits<double>::min(), std::numeric_limits<double>::max(),
             "over prompt and output tokens", "test_penalties_change_the_text"),
      read("seed", T::integer, "answer i draws with seed + i; -1: none", "test_three_choices_with_a_seed"),
      read("stop", T::any, "a string or up to four", "test_stop_string"),
      read("stop_token_ids", T::array, "ids that end the answer", "test_stop_token_ids"),
      read("include_stop_str_in_output", T::boolean, "keep the stop string", "test_include_stop_string"),
      read("ignore_eos", T::boolean, "go on after the end-of-text token", "test_three_choices_with_a_seed"),
      ranged("min_tokens", T::integer, 0, kInfinity, "no end before that many tokens", "test_min_tokens"),
      read("logit_bias", T::object, "token id to a number added to its logit, at most 100 either way",
           "test_logit_bias"),
      read("bad_words", T::array, "words that are never written", "test_bad_words"),
      read("allowed_token_ids", T::array, "only these are written", "test_allowed_token_ids"),
      ranged("prompt_logprobs", T::integer, -1, kInfinity, "log-probabilities of the prompt's tokens",
             "test_prompt_logprobs"),
      read("skip_special_tokens", T::boolean, "leave special tokens out of the text; default true",
           "test_special_tokens_shown"),
      accepted("spaces_between_special_tokens", "spaces are never put between special tokens"),
      read("stream", T::boolean, "server-sent events", "test_chat_stream_equals_the_whole"),
      read("stream_options", T::object, "{include_usage, continuous_usage_stats}", "test_chat_stream_equals_the_whole"),
      ranged("stream_interval", T::integer, 1, kInfinity, "tokens an event after the first", "test_stream_interval"),
      read("echo", T::boolean, "the prompt (completions) or the last message (chat) first",
           "test_completion_with_logprobs_and_echo"),
      read("add_special_tokens", T::boolean, "let the tokenizer add BOS and EOS to the prompt",
           "test_add_special_tokens"),
      ranged("truncate_prompt_tokens", T::integer, -1, kInfinity, "keep that many prompt tokens; -1: what fits",
             "test_truncate_prompt_tokens"),
      read("truncation_side", T::string, "left (default) or right", "test_truncate_prompt_tokens"),
      read("priority", T::integer, "lower first; needs --scheduling-policy priority", limits),
      read("request_id", T::string, "the id of the answer", "test_request_id"),
      read("return_token_ids", T::boolean, "prompt_token_ids and token_ids",
           "test_special_tokens_in_content_stay_text"),
      read("return_tokens_as_token_ids", T::boolean, "token_id:N in log-probabilities", "test_tokens_as_token_ids"),
      read("return_prompt_text", T::boolean, "the prompt as rendered", "test_return_prompt_text"),
      read("cache_salt", T::string, "not empty; nothing is shared between requests yet", limits),
      read("debug_poison", T::string, "nan: the logits become NaN; development mode only",
           "test_nan_fails_that_request_and_no_other"),
      read("best_of", T::integer, "must be n", limits),
      refused("use_beam_search", "beam search is not offered; use n and temperature"),
      refused("logprob_token_ids", "not offered yet; use logprobs with top_logprobs"),
      refused("response_format", "only {\"type\": \"text\"} is offered yet"),
      refused("structured_outputs", "constrained output is not offered yet"),
      refused("guided_json", "constrained output is not offered yet"),
      refused("guided_regex", "constrained output is not offered yet"),
      refused("guided_choice", "constrained output is not offered yet"),
      refused("guided_grammar", "constrained output is not offered yet"),
      refused("prompt_embeds", "embeddings as prompts are not offered"),
      accepted("length_penalty", "of beam search only"),
      accepted("early_stopping", "of beam search only"),
      accepted("user", "ignored"),
      accepted("metadata", "ignored"),
      accepted("store", "ignored"),
      accepted("service_tier", "ignored"),
      accepted("session_id", "ignored"),
      accepted("vllm_xargs", "ignored"),
      accepted("kv_transfer_params", "ignored"),
      accepted("repetition_detection", "ignored"),
      accepted("keep_alive", "ignored"),
      accepted("options", "ignored"),
      accepted("extra_body", "ignored"),
      accepted("cache_prompt", "ignored"),
      accepted("guided_decoding_backend", "ignored"),
      accepted("guided_whitespace_pattern", "ignored"),
  };
}

Result<int> read_logprob_count(std::int64_t k, const char* name, const ServerConfig& config) {
  if (k == -1 && config.max_logprobs == -1) return SamplingParams::kAllLogprobs;
  if (k < 0)
    return invalid_argument(
        fmt::format("{} must be at least 0, got {} (-1 needs the server's --max-logprobs -1)", name, k), name);
  if (config.max_logprobs >= 0 && k > config.max_logprobs)
    return invalid_argument(
        fmt::format("{} is {}, the server's limit is {} (--max-logprobs)", name, k, config.max_logprobs), name);
  return static_cast<int>(std::min<std::int64_t>(k, SamplingParams::kAllLogprobs));
}

Result<GenerationParams> read_generation_params(const Json& body, const ServedModel& model,
                                                const ServerConfig& config) {
  GenerationParams p;
  SamplingParams& s = p.sampling;
  read_numbers(body, model.default_sampling, s, model.vocab_size);
  const std::int64_t n = integer(body, "n").value_or(1);
  if (n > config.max_n) return invalid_argument(fmt::format("n is {}, the limit is {}", n, config.max_n), "n");
  p.n = static_cast<int>(n);
  if (p.n > 1 && s.greedy())
    return invalid_argument("n must be 1 with greedy sampling (temperature 0): all answers would be the same", "n");
  if (const auto best_of = integer(body, "best_of"); best_of && *best_of > p.n)
    return invalid_argument(fmt::format("best_of ({}) larger than n ({}) is not offered", *best_of, p.n), "best_of");
  else if (best_of && *best_of < p.n)
    return invalid_argument(fmt::format("best_of ({}) must not be less than n ({})", *best_of, p.n), "best_of");

  for (const Status& status :
       {read_stop(body, config, p), read_logit_bias(body, model, s), read_bad_words(body, model, config, s),
        read_ids(body, "stop_token_ids", model, true, s.stop_token_ids),
        read_ids(body, "allowed_token_ids", model, false, s.allowed_token_ids), read_streaming(body, config, p)})
    if (!status.ok()) return status;

  s.eos_token_ids = model.eos_token_ids;
  s.ignore_eos = flag(body, "ignore_eos");
  s.min_tokens = static_cast<int>(
      std::min<std::int64_t>(integer(body, "min_tokens").value_or(0), std::numeric_limits<int>::max()));
  if (const auto k = integer(body, "prompt_logprobs")) {
    if (p.stream) return invalid_argument("prompt_logprobs cannot be streamed", "prompt_logprobs");
    const Result<int> count = read_logprob_count(*k, "prompt_logprobs", config);
    if (!count) return count.status();
    s.prompt_logprobs = *count;
  }
  if (const Json* salt = field(body, "cache_salt"); salt && salt->get_ref<const std::string&>().empty())
    return invalid_argument("cache_salt must not be empty", "cache_salt");
  p.include_stop = flag(body, "include_stop_str_in_output");
  p.skip_special = flag(body, "skip_special_tokens", true);
  p.echo = flag(body, "echo");
  p.return_token_ids = flag(body, "return_token_ids");
  p.tokens_as_ids = flag(body, "return_tokens_as_token_ids", config.return_tokens_as_token_ids);
  p.return_prompt_text = flag(body, "return_prompt_text");
  const std::int64_t priority = integer(body, "priority").value_or(0);
  if (priority != 0 && model.engine->config().policy != SchedulingPolicy::priority)
    return invalid_argument("priority needs the server's flag --scheduling-policy priority", "priority");
  p.priority = static_cast<int>(
      std::clamp<std::int64_t>(priority, std::numeric_limits<int>::min(), std::numeric_limits<int>::max()));
  if (config.dev_mode) s.debug_poison_nan = text(body, "debug_poison") == "nan";
  return p;
}

namespace {

Status context_overflow(std::int64_t limit, std::int64_t output, std::int64_t prompt, std::string_view at_least = "") {
  output = std::min(output, std::numeric_limits<std::int64_t>::max() - prompt);
  return invalid_argument(
      fmt::format("This model's maximum context length is {} tokens. The request asks for {} output tokens and its "
                  "prompt has {}{} input tokens, {}{} in all. Shorten the prompt or ask for fewer output tokens.",
                  limit, output, at_least, prompt, at_least, output + prompt),
      "input_tokens");
}

}  // namespace

Status check_prompt_length(std::string_view prompt, const Json& body, const GenerationParams& params,
                           const ServedModel& model) {
  constexpr std::size_t kShrink = 4;  // Unicode's composed form has at least a third of the bytes
  if (model.longest_token_bytes == 0 || integer(body, "truncate_prompt_tokens")) return {};
  const auto fewest = static_cast<std::int64_t>(prompt.size() / (kShrink * model.longest_token_bytes));
  if (fewest <= model.max_model_len) return {};
  return context_overflow(model.max_model_len, params.max_tokens.value_or(1), fewest, "at least ");
}

Status truncate_prompt(const Json& body, const GenerationParams& params, const ServedModel& model,
                       std::vector<std::int32_t>& ids) {
  const std::string side = text(body, "truncation_side");
  if (!side.empty() && side != "left" && side != "right")
    return invalid_argument("truncation_side must be left or right, got '" + side + "'", "truncation_side");
  const auto keep = integer(body, "truncate_prompt_tokens");
  if (!keep) return {};
  std::int64_t most = *keep;
  if (most == -1)
    most = std::max<std::int64_t>(1, model.max_model_len - std::max<std::int64_t>(1, params.max_tokens.value_or(1)));
  if (most > model.max_model_len)
    return invalid_argument(
        fmt::format("truncate_prompt_tokens ({}) is larger than the model's maximum context length ({})", most,
                    model.max_model_len),
        "truncate_prompt_tokens");
  if (static_cast<std::int64_t>(ids.size()) <= most) return {};
  if (side == "right")
    ids.resize(static_cast<std::size_t>(most));
  else
    ids.erase(ids.begin(), ids.end() - most);
  return {};
}

Result<int> resolve_max_tokens(const GenerationParams& params, std::optional<std::int64_t> otherwise,
                               std::size_t num_prompt_tokens, const ServedModel& model, const ServerConfig& config) {
  const std::int64_t limit = model.max_model_len, prompt = static_cast<std::int64_t>(num_prompt_tokens);
  const auto overflow = [&](std::int64_t output) { return context_overflow(limit, output, prompt); };
  const auto cap = integer(model.default_sampling, "max_new_tokens");
  if (params.max_tokens && *params.max_tokens > limit && !config.clamp_max_tokens)
    return invalid_argument(fmt::format("max_tokens ({}) is larger than this model's maximum context length of {} "
                                        "tokens (the prompt has {} input tokens)",
                                        *params.max_tokens, limit, prompt),
                            "max_tokens");
  if (prompt >= limit && params.max_tokens.value_or(1) != 0)
    return overflow(params.max_tokens.value_or(otherwise.value_or(1)));
  std::int64_t wanted = params.max_tokens ? *params.max_tokens : otherwise.value_or(limit - prompt);
  if (cap) wanted = std::min(wanted, *cap);
  if (wanted > limit - prompt) {
    if (params.max_tokens && !config.clamp_max_tokens) return overflow(*params.max_tokens);
    wanted = limit - prompt;
  }
  if (params.sampling.min_tokens > wanted)
    return invalid_argument(
        fmt::format("min_tokens ({}) is larger than max_tokens ({})", params.sampling.min_tokens, wanted),
        "min_tokens");
  return static_cast<int>(wanted);
}

}  // namespace hearth
