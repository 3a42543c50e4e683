// service.h — everything the endpoints answer from: the models being served and the server's settings.
//
// Owns      nothing that changes after start; engines have their own threads.
// Threads   read by every HTTP thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/engine.h"
#include "obs/metrics.h"
#include "server/engine_recorder.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace hearth {

class HttpServer;

// One served model: names, tokenizer, template, engine.
struct ServedModel {
  std::vector<std::string> names;  // the first is echoed
  std::string root;                // path or hub id
  std::int64_t created = 0;        // unix seconds
  std::int32_t max_model_len = 0;
  std::int32_t vocab_size = 0;          // rows of the logits
  std::size_t longest_token_bytes = 0;  // longest_token(); 0: not known
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;  // null: the model has none
  std::shared_ptr<EngineRecorder> recorder;  // the EngineMetrics that the engine was made with; make_recorder()
  std::shared_ptr<Engine> engine;
  std::vector<std::int32_t> eos_token_ids;  // tokenizer's and generation_config's
  Json default_sampling = Json::object();   // from generation_config: temperature, top_p, top_k, …, max_new_tokens
  Json default_chat_template_kwargs = Json::object();
  Json card_extra = Json::object();  // capabilities, quantization, … for /v1/models
};

struct ServerConfig {
  std::string host;  // empty: all interfaces
  int port = 8000;
  std::string uds;  // unix socket instead of TCP when not empty
  std::vector<std::string> api_keys;
  std::string ssl_certfile, ssl_keyfile, ssl_ca_certs, ssl_ciphers;
  int ssl_cert_reqs = 0;
  bool ssl_refresh = false;
  std::vector<std::string> allowed_origins{"*"}, allowed_methods{"*"}, allowed_headers{"*"};
  bool allow_credentials = false;
  std::string root_path;
  std::int64_t max_request_bytes = std::int64_t{256} << 20;
  std::int64_t max_header_bytes = 4194304;
  int max_header_count = 256;
  double keep_alive_seconds = 75;
  double shutdown_timeout_seconds = 0;
  bool protect_metrics = false;
  bool dev_mode = false;  // VLLM_SERVER_DEV_MODE
  bool log_requests = false, log_outputs = false, log_stats = true, access_log = true;
  int max_log_len = -1;
  std::vector<std::string> access_log_quiet_paths;
  bool enable_prompt_tokens_details = false, force_include_usage = false, per_request_metrics = false;
  bool server_load_tracking = false, tokenizer_info_endpoint = false, return_tokens_as_token_ids = false;
  bool request_id_headers = true;
  bool trust_request_chat_template = false, lenient_messages = true, special_tokens_parse = false,
       clamp_max_tokens = false;
  std::string response_role = "assistant";
  int max_logprobs = 20;
  std::string logprobs_mode = "raw_logprobs";
  int stream_interval = 1;
  std::string fingerprint_mode = "full", fingerprint_value;
  int max_stop_strings = 4, max_completion_prompts = 1024, max_n = 16384, max_bad_words = 128;
  std::string compat_version = "0.26.0";  // what /version reports
  std::string engine_version = "0.1.0";
  int http_threads = 2;
};

struct Service {
  ServerConfig config;
  std::vector<std::shared_ptr<ServedModel>> models;
  std::shared_ptr<Metrics> metrics = std::make_shared<Metrics>();
};

// Bytes of the longest token: a text of more has more tokens than one.
std::size_t longest_token(const Tokenizer& tokenizer);

// The series of a model, all at 0. cache_config: labels of vllm:cache_config_info (block_size, cache_dtype, num_gpu_blocks, …).
std::shared_ptr<EngineRecorder> make_recorder(Service& service, const std::string& model_name, int max_model_len,
                                              const std::map<std::string, std::string>& cache_config);

// Takes the address and reads the TLS files, before the model is loaded; StartupError when that cannot be.
std::unique_ptr<HttpServer> bind_server(const ServerConfig& config);

// Serves until SIGINT or SIGTERM, then drains and returns the exit code. Prints the two ready lines once the port answers.
int run_server(std::shared_ptr<Service> service, std::unique_ptr<HttpServer> server);

}  // namespace hearth
