#include "obs/metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/summary.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <sstream>
#include <vector>

#include "base/check.h"
#include "obs/process_metrics.h"

namespace hearth {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;
enum class Kind { gauge, counter, tokens, count, iteration, ttft, per_token, latency };  // the last six are histograms

struct Row {
  Metric metric;
  const char* name;
  Kind kind;
  const char* help;
  const char* label = "";
  std::vector<const char*> values = {};
};

// clang-format off
const std::vector<Row>& rows() {
  static const std::vector<Row> table = {
    {Metric::num_requests_running,            "vllm:num_requests_running",            Kind::gauge,   "Sequences in the running set."},
    {Metric::num_requests_waiting,            "vllm:num_requests_waiting",            Kind::gauge,   "Sequences waiting to be scheduled."},
    {Metric::num_requests_waiting_by_reason,  "vllm:num_requests_waiting_by_reason",  Kind::gauge,   "Waiting sequences by what they wait for.", "reason", {"capacity", "deferred"}},
    {Metric::num_requests_swapped,            "vllm:num_requests_swapped",            Kind::gauge,   "Always 0: preempted sequences are recomputed, not swapped."},
    {Metric::kv_cache_usage_perc,             "vllm:kv_cache_usage_perc",             Kind::gauge,   "KV cache blocks in use, 1 = all."},
    {Metric::gpu_cache_usage_perc,            "vllm:gpu_cache_usage_perc",            Kind::gauge,   "Older name of kv_cache_usage_perc."},
    {Metric::engine_sleep_state,              "vllm:engine_sleep_state",              Kind::gauge,   "1 for the state the engine is in.", "sleep_state", {"awake", "weights_offloaded", "discard_all"}},
    {Metric::prefix_cache_queries,            "vllm:prefix_cache_queries_total",      Kind::counter, "Prompt tokens looked up in the prefix cache."},
    {Metric::prefix_cache_hits,               "vllm:prefix_cache_hits_total",         Kind::counter, "Prompt tokens found in the prefix cache."},
    {Metric::gpu_prefix_cache_queries,        "vllm:gpu_prefix_cache_queries_total",  Kind::counter, "Older name of prefix_cache_queries."},
    {Metric::gpu_prefix_cache_hits,           "vllm:gpu_prefix_cache_hits_total",     Kind::counter, "Older name of prefix_cache_hits."},
    {Metric::external_prefix_cache_queries,   "vllm:external_prefix_cache_queries_total", Kind::counter, "Prompt tokens looked up outside this process."},
    {Metric::external_prefix_cache_hits,      "vllm:external_prefix_cache_hits_total", Kind::counter, "Prompt tokens found outside this process."},
    {Metric::mm_cache_queries,                "vllm:mm_cache_queries_total",          Kind::counter, "Images looked up in the image cache."},
    {Metric::mm_cache_hits,                   "vllm:mm_cache_hits_total",             Kind::counter, "Images found in the image cache."},
    {Metric::num_preemptions,                 "vllm:num_preemptions_total",           Kind::counter, "Sequences put back for lack of blocks."},
    {Metric::prompt_tokens,                   "vllm:prompt_tokens_total",             Kind::counter, "Prompt tokens processed."},
    {Metric::prompt_tokens_cached,            "vllm:prompt_tokens_cached_total",      Kind::counter, "Prompt tokens that were not computed."},
    {Metric::generation_tokens,               "vllm:generation_tokens_total",         Kind::counter, "Tokens generated."},
    {Metric::prompt_tokens_by_source,         "vllm:prompt_tokens_by_source_total",   Kind::counter, "Prompt tokens by where their state came from.", "source", {"local_compute", "local_cache_hit", "external_kv_transfer"}},
    {Metric::request_success,                 "vllm:request_success_total",           Kind::counter, "Requests that ended, by reason.", "finished_reason", {"stop", "length", "abort", "error", "repetition"}},
    {Metric::request_prompt_tokens,           "vllm:request_prompt_tokens",           Kind::tokens,  "Prompt tokens of a request."},
    {Metric::request_generation_tokens,       "vllm:request_generation_tokens",       Kind::tokens,  "Tokens generated for a request."},
    {Metric::request_max_num_generation_tokens, "vllm:request_max_num_generation_tokens", Kind::tokens, "Tokens generated for the longest choice of a request."},
    {Metric::request_params_max_tokens,       "vllm:request_params_max_tokens",       Kind::tokens,  "max_tokens of a request."},
    {Metric::request_prefill_kv_computed_tokens, "vllm:request_prefill_kv_computed_tokens", Kind::tokens, "Prompt tokens computed for a request."},
    {Metric::request_params_n,                "vllm:request_params_n",                Kind::count,   "n of a request."},
    {Metric::iteration_tokens_total,          "vllm:iteration_tokens_total",          Kind::iteration, "Tokens in a step."},
    {Metric::time_to_first_token_seconds,     "vllm:time_to_first_token_seconds",     Kind::ttft,    "Arrival to first token."},
    {Metric::inter_token_latency_seconds,     "vllm:inter_token_latency_seconds",     Kind::per_token, "Time between the tokens of a choice, one observation a step."},
    {Metric::time_per_output_token_seconds,   "vllm:time_per_output_token_seconds",   Kind::per_token, "Older name of inter_token_latency_seconds."},
    {Metric::request_time_per_output_token_seconds, "vllm:request_time_per_output_token_seconds", Kind::per_token, "Decode time of a request over its tokens after the first."},
    {Metric::e2e_request_latency_seconds,     "vllm:e2e_request_latency_seconds",     Kind::latency, "Arrival to end."},
    {Metric::request_queue_time_seconds,      "vllm:request_queue_time_seconds",      Kind::latency, "Arrival to first scheduled."},
    {Metric::request_inference_time_seconds,  "vllm:request_inference_time_seconds",  Kind::latency, "First scheduled to last token."},
    {Metric::request_prefill_time_seconds,    "vllm:request_prefill_time_seconds",    Kind::latency, "First scheduled to first token."},
    {Metric::request_decode_time_seconds,     "vllm:request_decode_time_seconds",     Kind::latency, "First token to last token."},
  };
  return table;
}
// clang-format on

// 1, 2, 5, 10, 20, 50 … up to the longest request possible.
Buckets token_buckets(int max_model_len) {
  Buckets buckets;
  for (double decade = 1; decade <= max_model_len; decade *= 10)
    for (const double step : {1.0, 2.0, 5.0})
      if (decade * step <= max_model_len) buckets.push_back(decade * step);
  if (buckets.empty()) buckets.push_back(1);
  return buckets;
}

Buckets buckets_of(Kind kind, int max_model_len) {
  switch (kind) {
    case Kind::count:
      return {1, 2, 5, 10, 20};
    case Kind::iteration:
      return {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
    case Kind::ttft:
      return {.001, .005, .01, .02, .04, .06, .08, .1, .25, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80, 160, 640, 2560};
    case Kind::per_token:
      return {.01, .025, .05, .075, .1, .15, .2, .3, .4, .5, .75, 1, 2.5, 5, 7.5, 10, 20, 40, 80};
    case Kind::latency:
      return {.3, .5, .8, 1, 1.5, 2, 2.5, 5, 10, 15, 20, 30, 40, 50, 60, 120, 240, 480, 960, 1920, 7680};
    default:
      return token_buckets(max_model_len);
  }
}

class ModelSeriesImpl final : public ModelSeries {
 public:
  ModelSeriesImpl(prometheus::Registry& registry, const std::string& model_name, int max_model_len) {
    const prometheus::Labels base{{"model_name", model_name}, {"engine", "0"}};
    for (const Row& row : rows()) {
      Slot& slot = slots_[static_cast<std::size_t>(row.metric)];
      std::vector<const char*> values = row.values;
      if (values.empty()) values.push_back("");
      for (const char* value : values) {
        prometheus::Labels labels = base;
        if (*row.label) labels.emplace(row.label, value);
        slot.values.emplace_back(value);
        if (row.kind == Kind::gauge) {
          slot.gauges.push_back(&prometheus::BuildGauge().Name(row.name).Help(row.help).Register(registry).Add(labels));
        } else if (row.kind == Kind::counter) {
          slot.counters.push_back(
              &prometheus::BuildCounter().Name(row.name).Help(row.help).Register(registry).Add(labels));
        } else {
          slot.histogram = &prometheus::BuildHistogram().Name(row.name).Help(row.help).Register(registry).Add(
              labels, buckets_of(row.kind, max_model_len));
        }
      }
    }
  }

  void add(Metric metric, double value) override { slot(metric).counters.at(0)->Increment(value); }
  void add(Metric metric, std::string_view label, double value) override {
    slot(metric).counters.at(index(metric, label))->Increment(value);
  }
  void set(Metric metric, double value) override { slot(metric).gauges.at(0)->Set(value); }
  void set(Metric metric, std::string_view label, double value) override {
    slot(metric).gauges.at(index(metric, label))->Set(value);
  }
  void observe(Metric metric, double value) override { slot(metric).histogram->Observe(value); }

 private:
  struct Slot {
    std::vector<std::string> values;
    std::vector<prometheus::Counter*> counters;
    std::vector<prometheus::Gauge*> gauges;
    prometheus::Histogram* histogram = nullptr;
  };
  Slot& slot(Metric metric) { return slots_[static_cast<std::size_t>(metric)]; }
  std::size_t index(Metric metric, std::string_view label) {
    const auto& values = slot(metric).values;
    const auto found = std::find(values.begin(), values.end(), label);
    HEARTH_CHECK(found != values.end());
    return static_cast<std::size_t>(found - values.begin());
  }
  std::array<Slot, static_cast<std::size_t>(Metric::kCount)> slots_;
};

constexpr std::array<std::string_view, 6> kUncountedRoutes = {"/metrics", "/health",  "/load",
                                                              "/ping",    "/version", "/server_info"};
constexpr std::array<std::string_view, 7> kMethods = {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"};

}  // namespace

struct Metrics::Impl {
  prometheus::Registry registry{prometheus::Registry::InsertBehavior::Merge};
  ProcessMetrics process;
  prometheus::Family<prometheus::Counter>& requests = prometheus::BuildCounter()
                                                          .Name("http_requests_total")
                                                          .Help("Requests by route, method and class of status.")
                                                          .Register(registry);
  prometheus::Family<prometheus::Histogram>& duration = prometheus::BuildHistogram()
                                                            .Name("http_request_duration_seconds")
                                                            .Help("Time to the end of the answer, few buckets.")
                                                            .Register(registry);
  prometheus::Histogram& duration_highr =
      prometheus::BuildHistogram()
          .Name("http_request_duration_highr_seconds")
          .Help("Time to the end of the answer, many buckets.")
          .Register(registry)
          .Add({}, Buckets{.01, .025, .05, .075, .1, .25, .5, .75, 1, 1.5, 2, 2.5, 3, 3.5, 4, 4.5, 5, 7.5, 10, 30, 60});
  prometheus::Family<prometheus::Summary>& request_size =
      prometheus::BuildSummary().Name("http_request_size_bytes").Help("Bytes of requests.").Register(registry);
  prometheus::Family<prometheus::Summary>& response_size =
      prometheus::BuildSummary().Name("http_response_size_bytes").Help("Bytes of answers.").Register(registry);
};

Metrics::Metrics() : impl_(std::make_unique<Impl>()) {}
Metrics::~Metrics() = default;

std::unique_ptr<ModelSeries> Metrics::add_model(const std::string& model_name, int max_model_len,
                                                const std::map<std::string, std::string>& cache_config) {
  auto series = std::make_unique<ModelSeriesImpl>(impl_->registry, model_name, max_model_len);
  series->set(Metric::engine_sleep_state, "awake", 1);
  prometheus::Labels labels(cache_config.begin(), cache_config.end());
  labels["model_name"] = model_name;
  labels["engine"] = "0";
  prometheus::BuildGauge()
      .Name("vllm:cache_config_info")
      .Help("Settings of the cache, as labels.")
      .Register(impl_->registry)
      .Add(labels)
      .Set(1);
  return series;
}

void Metrics::http_request(std::string_view route, std::string_view method, int status, std::size_t request_bytes,
                           std::size_t response_bytes, double seconds) {
  if (std::find(kUncountedRoutes.begin(), kUncountedRoutes.end(), route) != kUncountedRoutes.end()) return;
  // A client must not be able to make series: unknown routes and methods share one each.
  const std::string handler = route.empty() ? "none" : std::string(route);
  const std::string verb =
      std::find(kMethods.begin(), kMethods.end(), method) != kMethods.end() ? std::string(method) : "other";
  const std::string group = status == 0 ? "none" : std::to_string(status / 100) + "xx";
  impl_->requests.Add({{"handler", handler}, {"method", verb}, {"status", group}}).Increment();
  impl_->duration.Add({{"handler", handler}, {"method", verb}}, Buckets{.1, .5, 1}).Observe(seconds);
  impl_->duration_highr.Observe(seconds);
  impl_->request_size.Add({{"handler", handler}}, prometheus::Summary::Quantiles{})
      .Observe(static_cast<double>(request_bytes));
  impl_->response_size.Add({{"handler", handler}}, prometheus::Summary::Quantiles{})
      .Observe(static_cast<double>(response_bytes));
}

std::string Metrics::text() const {
  std::vector<prometheus::MetricFamily> families = impl_->registry.Collect();
  for (prometheus::MetricFamily& family : impl_->process.collect()) families.push_back(std::move(family));
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, families);
  return std::move(out).str();
}

}  // namespace hearth
