#include "obs/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hearth {
namespace {

using testing::HasSubstr;
using testing::Not;

const char* kLabels = "{engine=\"0\",model_name=\"m\"}";

TEST(Metrics, EverySeriesExistsFromTheStart) {
  Metrics metrics;
  auto series = metrics.add_model("m", 2048, {{"block_size", "16"}});
  const std::string text = metrics.text();
  for (const char* name : {"vllm:num_requests_running", "vllm:num_requests_waiting", "vllm:kv_cache_usage_perc",
                           "vllm:prompt_tokens_total", "vllm:generation_tokens_total", "vllm:num_preemptions_total",
                           "vllm:iteration_tokens_total_count", "vllm:time_to_first_token_seconds_count"})
    EXPECT_THAT(text, HasSubstr(std::string("\n") + name + kLabels + " 0\n"));
  EXPECT_THAT(text,
              HasSubstr("vllm:request_success_total{engine=\"0\",finished_reason=\"abort\",model_name=\"m\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("vllm:cache_config_info{block_size=\"16\",engine=\"0\",model_name=\"m\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE vllm:iteration_tokens_total histogram\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE vllm:prompt_tokens_total counter\n"));
  EXPECT_THAT(text, HasSubstr("process_resident_memory_bytes "));
}

TEST(Metrics, TokenBucketsEndAtTheModelLength) {
  Metrics metrics;
  auto series = metrics.add_model("m", 300, {});
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("vllm:request_prompt_tokens_bucket{engine=\"0\",model_name=\"m\",le=\"200\"} 0"));
  EXPECT_THAT(text, Not(HasSubstr("vllm:request_prompt_tokens_bucket{engine=\"0\",model_name=\"m\",le=\"500\"}")));
}

TEST(Metrics, ValuesArrive) {
  Metrics metrics;
  auto series = metrics.add_model("m", 100, {});
  series->add(Metric::prompt_tokens, 7);
  series->add(Metric::request_success, "length", 2);
  series->set(Metric::num_requests_running, 3);
  series->observe(Metric::time_to_first_token_seconds, 0.03);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr(std::string("vllm:prompt_tokens_total") + kLabels + " 7\n"));
  EXPECT_THAT(text, HasSubstr("finished_reason=\"length\",model_name=\"m\"} 2\n"));
  EXPECT_THAT(text, HasSubstr(std::string("vllm:num_requests_running") + kLabels + " 3\n"));
  EXPECT_THAT(text,
              HasSubstr("vllm:time_to_first_token_seconds_bucket{engine=\"0\",model_name=\"m\",le=\"0.02\"} 0\n"));
  EXPECT_THAT(text,
              HasSubstr("vllm:time_to_first_token_seconds_bucket{engine=\"0\",model_name=\"m\",le=\"0.04\"} 1\n"));
}

TEST(Metrics, HttpRequestsAreGroupedAndBounded) {
  Metrics metrics;
  metrics.http_request("/v1/models/{id...}", "GET", 404, 10, 20, 0.2);
  metrics.http_request("", "BREW", 405, 1, 1, 0.01);
  metrics.http_request("/health", "GET", 200, 1, 1, 0.01);
  const std::string text = metrics.text();
  EXPECT_THAT(text, HasSubstr("http_requests_total{handler=\"/v1/models/{id...}\",method=\"GET\",status=\"4xx\"} 1"));
  EXPECT_THAT(text, HasSubstr("http_requests_total{handler=\"none\",method=\"other\",status=\"4xx\"} 1"));
  EXPECT_THAT(text, Not(HasSubstr("/health")));
  EXPECT_THAT(text, HasSubstr("http_request_duration_highr_seconds_count 2"));
  EXPECT_THAT(text, HasSubstr("http_response_size_bytes_sum{handler=\"/v1/models/{id...}\"} 20"));
}

}  // namespace
}  // namespace hearth
