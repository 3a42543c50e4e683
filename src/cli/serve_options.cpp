#include "cli/serve_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/args.h"
#include "base/log.h"
#include "base/status.h"
#include "cli/serve_flags.h"

namespace hearth {
namespace {

constexpr std::int64_t kMaxInt = std::numeric_limits<std::int32_t>::max();

[[noreturn]] void refuse(const std::string& what, const std::string& flag, const std::string& hint) {
  throw StartupError(what, flag, hint, 2);
}

int small(const ParsedArgs& a, std::string_view name, std::int64_t otherwise, std::int64_t min,
          std::int64_t max = kMaxInt) {
  return static_cast<int>(a.integer(name, otherwise, min, max));
}

template <std::size_t N>
std::string pick(const ParsedArgs& a, std::string_view name, std::string_view otherwise,
                 const std::array<std::string_view, N>& choices) {
  return a.choice(name, otherwise, choices);
}

// '["a", "b"]', as vLLM's CORS options are written; a bare word is a list of one.
std::vector<std::string> json_list(const ParsedArgs& a, std::string_view name, std::vector<std::string> otherwise) {
  if (!a.has(name)) return otherwise;
  const std::string text = a.text(name);
  Result<Json> parsed = parse_json(text);
  if (!parsed && text.find_first_of("[{\"") == std::string::npos) return {text};
  if (!parsed || !parsed->is_array())
    refuse(fmt::format("--{}: '{}' is no JSON list of strings", name, text), "--" + std::string(name),
           "write '[\"*\"]'");
  std::vector<std::string> out;
  for (const Json& item : *parsed) {
    if (!item.is_string())
      refuse(fmt::format("--{}: {} is no string", name, item.dump()), "--" + std::string(name), "write '[\"*\"]'");
    out.push_back(item.get<std::string>());
  }
  return out;
}

std::vector<std::string> comma_list(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    if (comma > from) out.push_back(text.substr(from, comma - from));
    from = comma + 1;
  }
  return out;
}

void check_speculation(const ParsedArgs& a) {
  static constexpr std::array<std::string_view, 4> kMethods{"mtp", "qwen3_5_mtp", "qwen3_next_mtp", "ngram"};
  static constexpr std::array<std::string_view, 16> kKeys{"method",
                                                          "num_speculative_tokens",
                                                          "model",
                                                          "prompt_lookup_min",
                                                          "prompt_lookup_max",
                                                          "draft_tensor_parallel_size",
                                                          "disable_padded_drafter_batch",
                                                          "parallel_drafting",
                                                          "quantization",
                                                          "max_model_len",
                                                          "revision",
                                                          "enforce_eager",
                                                          "attention_backend",
                                                          "disable_by_batch_size",
                                                          "rejection_sample_method",
                                                          "draft_sample_method"};
  const Json config = a.json("speculative-config");
  for (const auto& [key, value] : config.items()) {
    if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end())
      refuse("--speculative-config has no key '" + key + "'", "--speculative-config",
             "known keys: method, num_speculative_tokens, model, prompt_lookup_min, prompt_lookup_max");
  }
  const std::string method = config.contains("method") && config["method"].is_string()
                                 ? config["method"].get<std::string>()
                                 : a.text("spec-method");
  if (!method.empty() && std::find(kMethods.begin(), kMethods.end(), method) == kMethods.end())
    refuse("speculative method '" + method + "' is not supported",
           a.has("speculative-config") ? "--speculative-config" : "--spec-method",
           "mtp is the one to come; leave it out");
}

void read_model(const ParsedArgs& a, LoadOptions& l, std::vector<std::string>& warnings) {
  l.revision = a.text("revision");
  l.cache_dir = a.text("download-dir");
  l.tokenizer = a.text("tokenizer");
  l.tokenizer_revision = a.text("tokenizer-revision");
  const std::string format = a.text("load-format", "auto");
  static constexpr std::array<std::string_view, 6> kFastLoaders{
      "fastsafetensors", "runai_streamer", "instanttensor", "sharded_state", "pt", "bitsandbytes"};
  if (format == "auto" || format == "safetensors" || format == "gguf" || format == "dummy") {
    l.load_format = format;
  } else if (std::find(kFastLoaders.begin(), kFastLoaders.end(), format) != kFastLoaders.end()) {
    warnings.push_back("--load-format " + format + ": the safetensors files are read by this program's own loader");
    l.load_format = "safetensors";
  } else {
    refuse("--load-format " + format + " is not supported", "--load-format", "auto, safetensors, gguf or dummy");
  }
  const std::string dtype = pick(
      a, "dtype", "auto", std::array<std::string_view, 6>{"auto", "bfloat16", "half", "float16", "float", "float32"});
  l.dtype = dtype == "half" ? "float16" : dtype == "float" ? "float32" : dtype;
  l.quantization = a.text("quantization");
  if (l.quantization == "None" || l.quantization == "none") l.quantization.clear();
  l.kv_cache_dtype = a.text("kv-cache-dtype", "auto");
  l.hf_config_path = a.text("hf-config-path");
  l.hf_overrides = a.json("hf-overrides");
  if (a.has("rope-scaling")) l.hf_overrides["rope_scaling"] = a.json("rope-scaling");
  if (a.has("rope-theta")) l.hf_overrides["rope_theta"] = a.number("rope-theta", 0, 1e-3, 1e12);
  l.generation_config = a.text("generation-config", "auto");
  l.override_generation_config = a.json("override-generation-config");
  l.chat_template = a.text("chat-template");
  l.device = a.text("device", "auto");
  l.threads = small(a, "threads", 0, 1, 1024);
}

void read_scheduling(const ParsedArgs& a, LoadOptions& l) {
  EngineConfig& e = l.engine;
  if (a.has("max-model-len") && a.text("max-model-len") != "auto") {
    l.max_model_len = a.human_integer("max-model-len", 0);
    if (l.max_model_len < 1 && l.max_model_len != -1)
      refuse("--max-model-len must be at least 1, or -1 or auto", "--max-model-len", "give a number of tokens");
    if (l.max_model_len > kMaxInt) refuse("--max-model-len is too large", "--max-model-len", "give at most 2147483647");
  } else if (a.has("max-model-len")) {
    l.max_model_len = -1;
  }
  l.allow_long_max_model_len = env_flag("VLLM_ALLOW_LONG_MAX_MODEL_LEN");
  l.max_num_seqs_given = a.has("max-num-seqs");
  const std::string mode = a.text("logprobs-mode", "raw_logprobs");
  l.logprobs_mode = mode == "processed_logprobs" ? LogprobsMode::processed_logprobs
                    : mode == "raw_logits"       ? LogprobsMode::raw_logits
                    : mode == "processed_logits" ? LogprobsMode::processed_logits
                                                 : LogprobsMode::raw_logprobs;
  e.max_num_seqs = small(a, "max-num-seqs", e.max_num_seqs, 1, 65536);
  const std::int64_t batched = a.human_integer("max-num-batched-tokens", e.max_num_batched_tokens);
  if (batched < 1 || batched > (1 << 24))
    refuse("--max-num-batched-tokens must be from 1 to 16777216", "--max-num-batched-tokens", "2048 is the default");
  e.max_num_batched_tokens = static_cast<std::int32_t>(batched);
  if (e.max_num_batched_tokens < e.max_num_seqs) {
    if (l.max_num_seqs_given)
      refuse(fmt::format("--max-num-batched-tokens {} is less than --max-num-seqs {}", e.max_num_batched_tokens,
                         e.max_num_seqs),
             "--max-num-batched-tokens", "a step holds at least one token of each running sequence");
    e.max_num_seqs = e.max_num_batched_tokens;
  }
  e.enable_chunked_prefill = a.on("enable-chunked-prefill", true);
  e.long_prefill_token_threshold = small(a, "long-prefill-token-threshold", 0, 0);
  e.policy = pick(a, "scheduling-policy", "fcfs", std::array<std::string_view, 2>{"fcfs", "priority"}) == "priority"
                 ? SchedulingPolicy::priority
                 : SchedulingPolicy::fcfs;
  e.seed = static_cast<std::uint64_t>(
      a.integer("seed", 0, std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
  MemoryOptions& m = l.memory;
  if (a.has("gpu-memory-utilization")) {
    m.utilization = a.number("gpu-memory-utilization", 0, 0, 1);
    if (*m.utilization <= 0)
      refuse("--gpu-memory-utilization must be above 0", "--gpu-memory-utilization", "0.9 is usual");
  }
  m.kv_cache_bytes = a.has("kv-cache-memory-bytes") ? a.human_integer("kv-cache-memory-bytes", 0) : 0;
  if (a.has("kv-cache-memory-bytes") && m.kv_cache_bytes < 1)
    refuse("--kv-cache-memory-bytes must be above 0", "--kv-cache-memory-bytes", "give a size such as 4G");
  m.num_blocks = small(a, "num-gpu-blocks-override", 0, 1);
  m.cap_bytes = a.size("memory", 0);
  if (a.has("memory-floor")) m.floor_bytes = a.size("memory-floor", 0);
}

// "/proxy", however its slashes were written; empty for none.
std::string root_path(std::string path) {
  path.erase(0, path.find_first_not_of('/'));
  while (path.ends_with('/')) path.pop_back();
  if (path.find_first_of("?#% ") != std::string::npos || path.find("//") != std::string::npos)
    refuse("--root-path '" + path + "' is no path", "--root-path", "write it as the proxy sends it, such as /llm");
  return path.empty() ? path : "/" + path;
}

void read_server(const ParsedArgs& a, ServeOptions& o) {
  ServerConfig& s = o.server;
  s.host = a.text("host");
  s.port = small(a, "port", 8000, 0, 65535);
  s.uds = a.text("uds");
  s.api_keys = a.list("api-key");
  if (s.api_keys.empty())
    if (auto key = env_value("VLLM_API_KEY")) s.api_keys = {*key};
  if (std::erase(s.api_keys, "") > 0)
    o.warnings.push_back(s.api_keys.empty() ? "--api-key is empty: the server answers everybody, without a key"
                                            : "--api-key: an empty key is left out");
  s.ssl_certfile = a.text("ssl-certfile");
  s.ssl_keyfile = a.text("ssl-keyfile");
  if (s.ssl_certfile.empty() != s.ssl_keyfile.empty())
    refuse("HTTPS needs both --ssl-certfile and --ssl-keyfile",
           s.ssl_certfile.empty() ? "--ssl-keyfile" : "--ssl-certfile", "give the other one, too");
  s.ssl_ca_certs = a.text("ssl-ca-certs");
  s.ssl_ciphers = a.text("ssl-ciphers");
  s.ssl_cert_reqs = small(a, "ssl-cert-reqs", 0, 0, 2);
  s.ssl_refresh = a.on("enable-ssl-refresh");
  s.allowed_origins = json_list(a, "allowed-origins", s.allowed_origins);
  s.allowed_methods = json_list(a, "allowed-methods", s.allowed_methods);
  s.allowed_headers = json_list(a, "allowed-headers", s.allowed_headers);
  s.allow_credentials = a.on("allow-credentials");
  s.root_path = root_path(a.text("root-path"));
  s.max_request_bytes = a.size("max-request-bytes", s.max_request_bytes);
  s.max_header_bytes = a.integer("h11-max-incomplete-event-size", s.max_header_bytes, 1024, std::int64_t{1} << 30);
  s.max_header_count = small(a, "h11-max-header-count", s.max_header_count, 1, 1 << 20);
  s.keep_alive_seconds = env_number("VLLM_HTTP_TIMEOUT_KEEP_ALIVE", s.keep_alive_seconds);
  s.shutdown_timeout_seconds = a.number("shutdown-timeout", 0, 0, 1e9);
  s.protect_metrics = a.on("protect-metrics");
  s.dev_mode = env_flag("VLLM_SERVER_DEV_MODE");
  s.log_requests = a.on("enable-log-requests") && !a.on("disable-log-requests");
  s.log_outputs = a.on("enable-log-outputs");
  if (s.log_outputs && !s.log_requests)
    refuse("--enable-log-outputs needs --enable-log-requests", "--enable-log-outputs", "add --enable-log-requests");
  s.log_stats = !a.on("disable-log-stats");
  s.access_log = !a.on("disable-uvicorn-access-log");
  s.max_log_len = small(a, "max-log-len", -1, 0);
  s.access_log_quiet_paths = comma_list(a.text("disable-access-log-for-endpoints"));
  s.enable_prompt_tokens_details = a.on("enable-prompt-tokens-details");
  s.force_include_usage = a.on("enable-force-include-usage");
  s.per_request_metrics = a.on("enable-per-request-metrics");
  s.server_load_tracking = a.on("enable-server-load-tracking");
  s.tokenizer_info_endpoint = a.on("enable-tokenizer-info-endpoint");
  s.return_tokens_as_token_ids = a.on("return-tokens-as-token-ids");
  s.trust_request_chat_template = a.on("trust-request-chat-template");
  s.lenient_messages = a.on("lenient-messages", true);
  s.special_tokens_parse =
      pick(a, "special-tokens-in-content", "literal", std::array<std::string_view, 2>{"literal", "parse"}) == "parse";
  s.clamp_max_tokens = a.on("clamp-max-tokens");
  s.response_role = a.text("response-role", s.response_role);
  s.max_logprobs = small(a, "max-logprobs", 20, -1);
  s.logprobs_mode = a.text("logprobs-mode", s.logprobs_mode);
  s.stream_interval = small(a, "stream-interval", 1, 1);
  s.fingerprint_mode = pick(a, "fingerprint-mode", "full", std::array<std::string_view, 3>{"full", "hash", "none"});
  s.max_stop_strings = static_cast<int>(env_integer("VLLM_MAX_STOP_STRINGS", s.max_stop_strings));
  s.max_completion_prompts = static_cast<int>(env_integer("VLLM_MAX_COMPLETION_PROMPTS", s.max_completion_prompts));
  s.max_n = static_cast<int>(env_integer("VLLM_MAX_N_SEQUENCES", s.max_n));
  s.max_bad_words = static_cast<int>(env_integer("VLLM_MAX_NUM_BAD_WORDS", s.max_bad_words));
  s.engine_version = HEARTH_VERSION;
}

}  // namespace

void read_load_options(const ParsedArgs& args, LoadOptions& load, std::vector<std::string>& warnings) {
  read_model(args, load, warnings);
  read_scheduling(args, load);
}

ServeOptions read_serve_options(const std::vector<std::string>& args) {
  ServeOptions o;
  const ArgParser& parser = serve_arg_parser();
  ParseRules rules;
  for (const std::string& word : args)
    if (word == "--ignore-unknown-args" || word == "--ignore_unknown_args") rules.ignore_unknown = true;
  ParsedArgs a = parser.parse(args, rules);
  if (const OptionValue* help = a.find("help")) {
    o.help = serve_help(help->values.empty() ? "" : help->values[0]);
    return o;
  }
  if (a.has("config")) a = parser.parse(args, rules, config_words(a.text("config")));
  o.warnings = a.warnings;
  refuse_flags(a);
  check_speculation(a);
  if (a.positionals.size() > 1)
    refuse("one MODEL is expected, found '" + a.positionals[0] + "' and '" + a.positionals[1] + "'", "command line",
           "a flag takes no value: write --flag or --no-flag");
  if (!a.positionals.empty()) {
    o.load.model = a.positionals[0];
    if (a.has("model")) o.warnings.push_back("--model is ignored: the positional MODEL counts");
  } else {
    o.load.model = a.text("model");
    if (o.load.model.empty())
      refuse("no MODEL is given", "command line", "hearth serve MODEL; a folder, a .gguf file or a hub id");
  }
  read_load_options(a, o.load, o.warnings);
  read_server(a, o);
  o.names = a.list("served-model-name");
  if (std::count(o.names.begin(), o.names.end(), "") > 0)
    refuse("--served-model-name is empty", "--served-model-name", "give a name, or leave it out");
  if (o.names.empty()) o.names = {o.load.model};
  o.default_chat_template_kwargs = a.json("default-chat-template-kwargs");
  o.dry_run = a.on("dry-run");
  for (std::string& w : ignored_flag_warnings(a)) o.warnings.push_back(std::move(w));
  return o;
}

}  // namespace hearth
