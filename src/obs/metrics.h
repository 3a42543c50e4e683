// metrics.h — the list of what is counted, and the registry that /metrics prints. A metric is one row of the table in
// metrics.cpp and one name here.
//
// Names     vLLM's where vLLM has the metric, so that its dashboards work; counters end in _total.
// Labels    each series of a model carries model_name and engine; a row may name one more label with its possible values.
//           Every series exists from the start, with value 0.
// Threads   any.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

namespace hearth {

enum class Metric {
  // gauges
  num_requests_running,
  num_requests_waiting,
  num_requests_waiting_by_reason,
  num_requests_swapped,
  kv_cache_usage_perc,
  gpu_cache_usage_perc,
  engine_sleep_state,
  // counters
  prefix_cache_queries,
  prefix_cache_hits,
  gpu_prefix_cache_queries,
  gpu_prefix_cache_hits,
  external_prefix_cache_queries,
  external_prefix_cache_hits,
  mm_cache_queries,
  mm_cache_hits,
  num_preemptions,
  prompt_tokens,
  prompt_tokens_cached,
  generation_tokens,
  prompt_tokens_by_source,
  request_success,
  // histograms
  request_prompt_tokens,
  request_generation_tokens,
  request_max_num_generation_tokens,
  request_params_max_tokens,
  request_prefill_kv_computed_tokens,
  request_params_n,
  iteration_tokens_total,
  time_to_first_token_seconds,
  inter_token_latency_seconds,
  time_per_output_token_seconds,
  request_time_per_output_token_seconds,
  e2e_request_latency_seconds,
  request_queue_time_seconds,
  request_inference_time_seconds,
  request_prefill_time_seconds,
  request_decode_time_seconds,
  kCount
};

// The series of one model.
class ModelSeries {
 public:
  virtual ~ModelSeries() = default;
  virtual void add(Metric metric, double value = 1) = 0;  // counter
  virtual void add(Metric metric, std::string_view label, double value) = 0;
  virtual void set(Metric metric, double value) = 0;  // gauge
  virtual void set(Metric metric, std::string_view label, double value) = 0;
  virtual void observe(Metric metric, double value) = 0;  // histogram
};

class Metrics {
 public:
  Metrics();
  ~Metrics();
  Metrics(const Metrics&) = delete;

  // cache_config: the labels of vllm:cache_config_info.
  std::unique_ptr<ModelSeries> add_model(const std::string& model_name, int max_model_len,
                                         const std::map<std::string, std::string>& cache_config);

  // One answered HTTP request. route: the template ("/v1/models/{id...}"), empty when none matched.
  void http_request(std::string_view route, std::string_view method, int status, std::size_t request_bytes,
                    std::size_t response_bytes, double seconds);

  // Prometheus text format 0.0.4.
  std::string text() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hearth
