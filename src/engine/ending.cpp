// How choices and requests end, one by one or all at once.
#include <algorithm>

#include "base/check.h"
#include "base/log.h"
#include "engine/engine_impl.h"
#include "obs/flight_recorder.h"

namespace hearth {

void Engine::Impl::end_choice(Sequence& sequence, FinishReason reason) {
  RequestState& state = *sequence.owner;
  scheduler.remove(sequence);
  state.choice_stats[static_cast<std::size_t>(sequence.index)].finish = reason;
  if (sequence.index == 0) state.prompt_rows_delivered = true;  // nobody gathers them any more
  if (--state.num_live == 0) finish_request(state);
}

void Engine::Impl::end_request(RequestState& state, FinishReason reason, const Status& error) {
  // finish_request() moves the state to `ended`, so it outlives this loop.
  for (const auto& sequence : state.choices) {
    if (sequence->state == SequenceState::ended) continue;
    ChoiceOutput out;
    out.index = sequence->index;
    out.finish = reason;
    out.error = error;
    state.request.sink->on_output(std::move(out));
    end_choice(*sequence, reason);
  }
}

void Engine::Impl::finish_request(RequestState& state) {
  const double now = clock.now_seconds();
  state.request.sink->on_done(state.times, state.num_cached_tokens, state.num_preemptions);
  if (metrics != nullptr) {
    const RequestTimes& t = state.times;
    RequestStats s;
    s.num_prompt_tokens = state.num_prompt();
    s.num_cached_tokens = state.num_cached_tokens;
    s.num_preemptions = state.num_preemptions;
    s.n = state.request.n;
    s.max_tokens = state.request.max_tokens;
    s.choices = state.choice_stats;
    s.e2e_seconds = now - t.arrival;
    if (state.was_scheduled) s.queue_seconds = t.first_scheduled - t.arrival;
    if (state.had_token) {
      s.prefill_seconds = t.first_token - t.first_scheduled;
      s.decode_seconds = t.last_token - t.first_token;
      s.inference_seconds = t.last_token - t.first_scheduled;
      s.ttft_seconds = t.first_token - t.arrival;
    }
    metrics->on_request_done(s);
  }
  const auto found = requests.find(state.request.id);
  HEARTH_CHECK(found != requests.end());
  ended.push_back(std::move(found->second));
  requests.erase(found);
  std::lock_guard lock(mutex);
  live_ids.erase(ended.back()->request.id);
}

void Engine::Impl::end_all(FinishReason reason, const Status& error) {
  std::vector<RequestState*> all;
  for (const auto& [id, state] : requests) all.push_back(state.get());
  std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->arrival_number < b->arrival_number; });
  for (RequestState* state : all) end_request(*state, reason, error);
}

void Engine::Impl::fail(const char* what) {
  log_error("engine failed: {}; {} requests end with an error", what, requests.size());
  if (log_level() <= LogLevel::error) flight_recorder().dump(stderr, 32);
  failed = true;
  {
    std::lock_guard lock(mutex);
    stats.alive = false;  // before anyone hears of it, so that nobody submits again in vain
  }
  take_messages();
  end_all(FinishReason::error, {Code::internal, std::string("the engine failed: ") + what, {}});
}

}  // namespace hearth
