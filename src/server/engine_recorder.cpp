#include "server/engine_recorder.h"

namespace hearth {
void EngineRecorder::on_step(const StepStats& s) {
  series_->observe(Metric::iteration_tokens_total, s.num_tokens);
  series_->add(Metric::prompt_tokens, s.num_prompt_tokens + s.num_cached_tokens);
  series_->add(Metric::prompt_tokens_cached, s.num_cached_tokens);
  series_->add(Metric::prompt_tokens_by_source, "local_compute", s.num_prompt_tokens);
  series_->add(Metric::prompt_tokens_by_source, "local_cache_hit", s.num_cached_tokens);
  for (const Metric m : {Metric::prefix_cache_queries, Metric::gpu_prefix_cache_queries})
    series_->add(m, s.num_prefix_queries);
  for (const Metric m : {Metric::prefix_cache_hits, Metric::gpu_prefix_cache_hits})
    series_->add(m, s.num_cached_tokens);
  series_->add(Metric::generation_tokens, s.num_generation_tokens);
  series_->add(Metric::num_preemptions, s.num_preemptions);
  for (const double seconds : s.ttft_seconds) series_->observe(Metric::time_to_first_token_seconds, seconds);
  for (const double seconds : s.inter_token_seconds) {
    series_->observe(Metric::inter_token_latency_seconds, seconds);
    series_->observe(Metric::time_per_output_token_seconds, seconds);
  }
}

void EngineRecorder::on_request_done(const RequestStats& s) {
  for (const ChoiceStats& choice : s.choices)
    series_->add(Metric::request_success, finish_reason_name(choice.finish), 1);
  series_->observe(Metric::request_prompt_tokens, s.num_prompt_tokens);
  series_->observe(Metric::request_prefill_kv_computed_tokens, s.num_prompt_tokens - s.num_cached_tokens);
  series_->observe(Metric::request_generation_tokens, s.num_generation_tokens());
  series_->observe(Metric::request_max_num_generation_tokens, s.max_num_generation_tokens());
  series_->observe(Metric::request_params_max_tokens, s.max_tokens);
  series_->observe(Metric::request_params_n, s.n);
  series_->observe(Metric::e2e_request_latency_seconds, s.e2e_seconds);
  const auto when_reached = [&](Metric metric, double seconds) {
    if (seconds >= 0) series_->observe(metric, seconds);
  };
  when_reached(Metric::request_queue_time_seconds, s.queue_seconds);
  when_reached(Metric::request_prefill_time_seconds, s.prefill_seconds);
  when_reached(Metric::request_decode_time_seconds, s.decode_seconds);
  when_reached(Metric::request_inference_time_seconds, s.inference_seconds);
  when_reached(Metric::request_time_per_output_token_seconds, s.seconds_per_output_token());
}

void EngineRecorder::refresh(const EngineStats& s) {
  series_->set(Metric::num_requests_running, s.num_running);
  series_->set(Metric::num_requests_waiting, s.num_waiting);
  series_->set(Metric::num_requests_waiting_by_reason, "capacity", s.num_waiting);
  const double used = s.num_blocks > 0 ? 1.0 - static_cast<double>(s.num_free_blocks) / s.num_blocks : 0.0;
  series_->set(Metric::kv_cache_usage_perc, used);
  series_->set(Metric::gpu_cache_usage_perc, used);
}

}  // namespace hearth
