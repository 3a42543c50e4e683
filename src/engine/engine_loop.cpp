// One iteration of the engine: messages in, schedule, run, deliver, statistics out.
#include <exception>

#include "base/check.h"
#include "base/rng.h"
#include "engine/engine_impl.h"
#include "obs/flight_recorder.h"

namespace hearth {

void Engine::Impl::accept(Message& m) {
  auto state = std::make_unique<RequestState>();
  state->request = std::move(m.request);
  state->times.arrival = m.arrival;
  state->arrival_number = num_arrived++;
  const SamplingParams& p = state->request.sampling;
  const std::uint64_t seed =
      p.seed ? static_cast<std::uint64_t>(*p.seed) : random_bits(config.seed, state->arrival_number);
  const int n = state->request.n;
  state->num_live = n;
  state->choice_stats.resize(static_cast<std::size_t>(n));
  if (p.prompt_logprobs >= 0) {
    state->prompt_rows.emplace_back();
    state->prompt_rows.back().token = state->request.prompt.front();
  }
  for (int i = 0; i < n; ++i) {
    auto sequence = std::make_unique<Sequence>();
    sequence->owner = state.get();
    sequence->index = i;
    sequence->seed = seed + static_cast<std::uint64_t>(i);
    scheduler.add(*sequence);
    state->choices.push_back(std::move(sequence));
  }
  std::string id = state->request.id;
  requests.emplace(std::move(id), std::move(state));
}

bool Engine::Impl::take_messages() {
  messages.clear();
  {
    std::lock_guard lock(mutex);
    std::swap(messages, inbox);
    inbox_choices = 0;
  }
  for (Message& m : messages) {
    if (m.kind == Message::submit) {
      accept(m);
      continue;
    }
    const auto found = requests.find(m.id);
    if (found == requests.end()) continue;  // it has just ended by itself
    RequestState& state = *found->second;
    if (m.kind == Message::abort) {
      end_request(state, FinishReason::abort, {});
    } else if (m.index >= 0 && m.index < state.request.n) {
      Sequence& sequence = *state.choices[static_cast<std::size_t>(m.index)];
      if (sequence.state != SequenceState::ended) end_choice(sequence, FinishReason::stop);
    }
  }
  return !messages.empty();
}

bool Engine::Impl::step() {
  const double begin = clock.now_seconds();
  const bool heard = take_messages();
  if (failed) end_all(FinishReason::error, {Code::unavailable, "the engine has failed", {}});
  const std::vector<Scheduled>& scheduled = scheduler.schedule();
  if (scheduled.empty()) {
    if (!requests.empty())
      flight_recorder().record("stuck", {{"waiting", scheduler.num_waiting()}, {"running", scheduler.num_running()}});
    HEARTH_CHECK(requests.empty());  // the scheduler's promise of progress
    scheduler.check_integrity();
    ended.clear();
    publish();
    return heard;
  }
  step_stats = {};
  ttfts.clear();
  itls.clear();
  build_batch(scheduled, info, batch, sample_owners);
  for (const Scheduled& s : scheduled) {
    RequestState& state = *s.sequence->owner;
    if (!state.was_scheduled) state.times.first_scheduled = begin;
    state.was_scheduled = true;
  }
  step_stats.num_tokens = static_cast<int>(batch.token_ids.size());
  step_stats.num_preemptions = scheduler.num_preempted();
  flight_recorder().record("step", {{"number", static_cast<std::int64_t>(stats.num_steps)},
                                    {"tokens", step_stats.num_tokens},
                                    {"sequences", static_cast<std::int64_t>(scheduled.size())},
                                    {"samples", static_cast<std::int64_t>(batch.samples.size())},
                                    {"running", scheduler.num_running()},
                                    {"waiting", scheduler.num_waiting()},
                                    {"admitted", scheduler.num_admitted()},
                                    {"preempted", scheduler.num_preempted()},
                                    {"free_blocks", scheduler.blocks().num_free()},
                                    {"free_slots", scheduler.states().num_free()}});
  const double run = clock.now_seconds();
  std::vector<SampledRow> rows;
  try {
    rows = runner->step(batch);
  } catch (const std::exception& e) {
    fail(e.what());
    ended.clear();
    step_stats = {};
    publish();
    return true;
  }
  const double ran = clock.now_seconds();
  deliver(scheduled, rows, ran);
  ended.clear();
  step_stats.runner_seconds = ran - run;
  step_stats.engine_seconds = (run - begin) + (clock.now_seconds() - ran);
  step_stats.ttft_seconds = ttfts;
  step_stats.inter_token_seconds = itls;
  if (metrics != nullptr) metrics->on_step(step_stats);
  publish();
  return true;
}

void Engine::Impl::publish() {
  std::lock_guard lock(mutex);
  stats.num_running = scheduler.num_running();
  stats.num_waiting = scheduler.num_waiting();
  stats.num_free_blocks = scheduler.blocks().num_free();
  stats.num_free_state_slots = scheduler.states().num_free();
  if (step_stats.num_tokens > 0) {
    ++stats.num_steps;
    stats.last_step_seconds = clock.now_seconds();
  }
  stats.busy_seconds += step_stats.runner_seconds;
  stats.scheduler_seconds += step_stats.engine_seconds;
  stats.num_prompt_tokens += static_cast<std::uint64_t>(step_stats.num_prompt_tokens);
  stats.num_generation_tokens += static_cast<std::uint64_t>(step_stats.num_generation_tokens);
  stats.num_preemptions += static_cast<std::uint64_t>(step_stats.num_preemptions);
  step_stats = {};
}

void Engine::Impl::loop() {
  for (;;) {
    bool worked = true;
    try {
      worked = step();
    } catch (const std::exception& e) {
      fail(e.what());  // requests end with an error; the server stays to say so
    }
    std::unique_lock lock(mutex);
    if (stopping && (clock.now_seconds() >= drain_until || (!worked && inbox.empty()))) return;
    if (!worked) wake.wait(lock, [&] { return !inbox.empty() || stopping; });
  }
}

}  // namespace hearth
