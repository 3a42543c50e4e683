#include "engine/engine.h"

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "base/check.h"
#include "base/log.h"
#include "base/rng.h"
#include "engine/batch.h"
#include "engine/engine_metrics.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"
#include "obs/flight_recorder.h"

namespace hearth {
namespace {

struct Message {
  enum Kind { submit, abort, stop_choice } kind = submit;
  Request request;
  double arrival = 0;
  std::string id;
  int index = 0;
};

bool contains(const std::vector<std::int32_t>& ids, std::int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

void require(bool good, const std::string& what, const char* where, const char* hint) {
  if (!good) throw StartupError(what, where, hint, 2);
}

void check_config(const EngineConfig& c, const RunnerInfo& r) {
  require(c.max_model_len >= 1 && c.max_num_seqs >= 1 && c.max_num_batched_tokens >= 1,
          "the limits of the engine must be positive", "--max-model-len", "give numbers of at least 1");
  require(c.max_num_batched_tokens >= c.max_num_seqs,
          "max_num_batched_tokens " + std::to_string(c.max_num_batched_tokens) + " is less than max_num_seqs " +
              std::to_string(c.max_num_seqs),
          "--max-num-batched-tokens",
          "each running sequence takes a token of every step: raise it, or lower --max-num-seqs");
  require(c.enable_chunked_prefill || c.max_num_batched_tokens >= c.max_model_len,
          "max_num_batched_tokens " + std::to_string(c.max_num_batched_tokens) + " is less than max_model_len " +
              std::to_string(c.max_model_len) + " and chunked prefill is off",
          "--max-num-batched-tokens", "a whole prompt must fit one step: raise it, or leave chunked prefill on");
  require(c.long_prefill_token_threshold >= 0 && c.long_prefill_token_threshold <= c.max_model_len,
          "long_prefill_token_threshold " + std::to_string(c.long_prefill_token_threshold) +
              " is not in 0 … max_model_len " + std::to_string(c.max_model_len),
          "--long-prefill-token-threshold", "0 turns it off");
  HEARTH_CHECK_LE(c.max_num_batched_tokens, r.max_batch_tokens);
  HEARTH_CHECK_LE(c.max_num_seqs, r.max_seqs);
  HEARTH_CHECK(r.max_logit_rows == 0 || r.max_logit_rows >= r.max_seqs);
}

}  // namespace

struct Engine::Impl {
  Impl(EngineConfig c, std::unique_ptr<Runner> r, const Clock& k, EngineMetrics* m)
      : config(c), runner(std::move(r)), info(runner->info()), clock(k), metrics(m), scheduler(config, info) {
    check_config(config, info);
    stats.num_blocks = stats.num_free_blocks = info.num_blocks;
    stats.num_state_slots = stats.num_free_state_slots = info.num_state_slots;
  }

  // ---- shared with other threads, under mutex -----------------------------------------------------------------------------
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Message> inbox;
  int inbox_choices = 0;                     // choices submitted and not yet taken
  std::unordered_set<std::string> live_ids;  // accepted and not ended
  bool stopping = false;
  double drain_until = 0;
  EngineStats stats;  // as of the last step

  // ---- the engine thread's own -------------------------------------------------------------------------------------------
  const EngineConfig config;
  const std::unique_ptr<Runner> runner;
  const RunnerInfo info;
  const Clock& clock;
  EngineMetrics* const metrics;
  Scheduler scheduler;
  std::unordered_map<std::string, std::unique_ptr<RequestState>> requests;
  std::vector<std::unique_ptr<RequestState>> ended;  // kept until the end of the step: rows may still point at them
  std::uint64_t num_arrived = 0;
  bool failed = false;
  std::vector<Message> messages;
  StepBatch batch;
  std::vector<Sequence*> sample_owners;
  std::vector<double> ttfts, itls;
  StepStats step_stats;
  std::thread thread;

  // ---- taking messages ---------------------------------------------------------------------------------------------------

  void accept(Message& m) {
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

  bool take_messages() {
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

  // ---- ending ------------------------------------------------------------------------------------------------------------

  // The choice is over; whatever was to be said about it has been.
  void end_choice(Sequence& sequence, FinishReason reason) {
    RequestState& state = *sequence.owner;
    scheduler.remove(sequence);
    state.choice_stats[static_cast<std::size_t>(sequence.index)].finish = reason;
    if (sequence.index == 0) state.prompt_rows_delivered = true;  // nobody gathers them any more
    if (--state.num_live == 0) finish_request(state);
  }

  void end_request(RequestState& state, FinishReason reason, const Status& error) {
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

  void finish_request(RequestState& state) {
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

  void end_all(FinishReason reason, const Status& error) {
    std::vector<RequestState*> all;
    for (const auto& [id, state] : requests) all.push_back(state.get());
    std::sort(all.begin(), all.end(), [](auto* a, auto* b) { return a->arrival_number < b->arrival_number; });
    for (RequestState* state : all) end_request(*state, reason, error);
  }

  // The runner is lost: everyone is told, nothing is accepted any more.
  void fail(const char* what) {
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

  // ---- delivering --------------------------------------------------------------------------------------------------------

  void deliver_token(Sequence& sequence, TokenOutput token, double now) {
    RequestState& state = *sequence.owner;
    const Request& request = state.request;
    const SamplingParams& p = request.sampling;
    const std::int32_t id = token.token;
    sequence.tokens.push_back(id);
    ++state.choice_stats[static_cast<std::size_t>(sequence.index)].num_generation_tokens;
    ++step_stats.num_generation_tokens;
    if (!state.had_token) {
      state.had_token = true;
      state.times.first_token = now;
      ttfts.push_back(now - state.times.arrival);
    }
    if (sequence.last_token_seconds >= 0) itls.push_back(now - sequence.last_token_seconds);
    sequence.last_token_seconds = state.times.last_token = now;

    ChoiceOutput out;
    out.index = sequence.index;
    const bool stops = (!p.ignore_eos && contains(p.eos_token_ids, id)) || contains(p.stop_token_ids, id);
    if (stops && sequence.num_output() >= p.min_tokens) {
      out.finish = FinishReason::stop;
      out.stop_token = id;
    } else if (sequence.num_output() >= request.max_tokens || sequence.num_tokens() >= config.max_model_len) {
      out.finish = FinishReason::length;
    }
    out.tokens.push_back(std::move(token));
    const FinishReason finish = out.finish;
    request.sink->on_output(std::move(out));
    if (finish != FinishReason::none) end_choice(sequence, finish);
  }

  void deliver_prompt_rows(RequestState& state) {
    if (!state.wants_prompt_rows() || state.next_prompt_row + 1 < state.num_prompt()) return;
    state.prompt_rows_delivered = true;
    state.request.sink->on_prompt_logprobs(std::move(state.prompt_rows));
  }

  void deliver(const std::vector<Scheduled>& scheduled, std::vector<SampledRow>& rows, double now) {
    for (const Scheduled& s : scheduled) {
      scheduler.advance(s);
      RequestState& state = *s.sequence->owner;
      if (s.sequence->index == 0) {
        const std::int32_t done = std::min(s.sequence->num_computed, state.num_prompt());
        step_stats.num_prompt_tokens += std::max(0, done - state.num_prompt_told);
        state.num_prompt_told = std::max(state.num_prompt_told, done);
      }
    }
    // Rows are in batch order: a sequence's prompt rows come before the token sampled after its prompt.
    HEARTH_CHECK_EQ(rows.size(), batch.samples.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      Sequence& sequence = *sample_owners[i];
      if (sequence.state == SequenceState::ended) continue;  // an earlier row failed its request
      RequestState& state = *sequence.owner;
      if (!rows[i].error.ok()) {
        end_request(state, FinishReason::error, rows[i].error);
      } else if (!batch.samples[i].sample) {
        state.prompt_rows.push_back(std::move(rows[i].token));
        ++state.next_prompt_row;
      } else {
        if (sequence.index == 0) deliver_prompt_rows(state);
        deliver_token(sequence, std::move(rows[i].token), now);
      }
    }
    // max_tokens 0: the prompt was all there was to do.
    for (const Scheduled& s : scheduled) {
      Sequence& sequence = *s.sequence;
      if (sequence.state != SequenceState::running || sequence.owner->request.max_tokens > 0 ||
          sequence.num_to_run() > 0)
        continue;
      if (sequence.index == 0) deliver_prompt_rows(*sequence.owner);
      ChoiceOutput out;
      out.index = sequence.index;
      out.finish = FinishReason::length;
      sequence.owner->request.sink->on_output(std::move(out));
      end_choice(sequence, FinishReason::length);
    }
  }

  // ---- the step ----------------------------------------------------------------------------------------------------------

  bool step() {
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

  // What stats() says from now on; adds step_stats to the sums and empties it.
  void publish() {
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

  void loop() {
    for (;;) {
      const bool worked = step();
      std::unique_lock lock(mutex);
      if (stopping && (clock.now_seconds() >= drain_until || (!worked && inbox.empty()))) return;
      if (!worked) wake.wait(lock, [&] { return !inbox.empty() || stopping; });
    }
  }
};

// ---- the public side ----------------------------------------------------------------------------------------------------------

Engine::Engine(EngineConfig config, std::unique_ptr<Runner> runner, const Clock& clock, EngineMetrics* metrics)
    : impl_(std::make_unique<Impl>(config, std::move(runner), clock, metrics)) {}

Engine::~Engine() { stop(); }

void Engine::start() {
  HEARTH_CHECK(!impl_->thread.joinable());
  impl_->thread = std::thread([this] { impl_->loop(); });
}

void Engine::stop(double drain_seconds) {
  Impl& e = *impl_;
  {
    std::lock_guard lock(e.mutex);
    e.stopping = true;
    e.drain_until = e.clock.now_seconds() + drain_seconds;
  }
  e.wake.notify_all();
  if (e.thread.joinable()) {
    e.thread.join();
  } else {
    while (e.clock.now_seconds() < e.drain_until && e.step()) {
    }
  }
  e.take_messages();
  e.end_all(FinishReason::abort, {});
  e.scheduler.check_integrity();
  e.ended.clear();
  e.publish();
}

Status Engine::submit(Request request) {
  Impl& e = *impl_;
  HEARTH_CHECK(request.sink != nullptr);
  const auto num_prompt = static_cast<std::int64_t>(request.prompt.size());
  if (num_prompt == 0) return invalid_argument("the prompt has no tokens; at least one is needed", "prompt");
  for (const std::int32_t id : request.prompt)
    if (id < 0 || id >= e.info.vocab_size)
      return invalid_argument(
          "token id " + std::to_string(id) + " is not in the vocabulary of " + std::to_string(e.info.vocab_size),
          "prompt");
  if (request.n < 1) return invalid_argument("n is " + std::to_string(request.n) + "; it must be at least 1", "n");
  if (request.max_tokens < 0)
    return invalid_argument("max_tokens is " + std::to_string(request.max_tokens) + "; it must not be negative",
                            "max_tokens");
  const std::int64_t longest_prompt = e.config.max_model_len - (request.max_tokens > 0 ? 1 : 0);
  if (num_prompt > longest_prompt)
    return invalid_argument("the prompt has " + std::to_string(num_prompt) + " tokens and max_model_len is " +
                                std::to_string(e.config.max_model_len) + ", which leaves room for at most " +
                                std::to_string(longest_prompt),
                            "prompt");
  // The last token of a choice is never run, so its position needs no place.
  const std::int64_t most = std::min<std::int64_t>(num_prompt + std::max(0, request.max_tokens - 1),
                                                   std::max<std::int64_t>(num_prompt, e.config.max_model_len - 1));
  if (const std::int64_t needed = e.scheduler.blocks_needed(most); needed > e.info.num_blocks)
    return invalid_argument("prompt and max_tokens need " + std::to_string(needed) + " cache blocks of " +
                                std::to_string(e.info.block_tokens) + " tokens, and the cache has " +
                                std::to_string(e.info.num_blocks),
                            "max_tokens");

  std::lock_guard lock(e.mutex);
  if (!e.stats.alive) return {Code::unavailable, "the engine has failed", {}};
  if (e.stopping) return {Code::unavailable, "the server is shutting down", {}};
  const std::int64_t waiting = std::int64_t{e.stats.num_waiting} + e.inbox_choices;
  if (waiting + request.n > e.config.max_queue)
    return {Code::resource_exhausted,
            "the queue is full: " + std::to_string(waiting) + " of at most " + std::to_string(e.config.max_queue) +
                " are waiting",
            {}};
  if (!e.live_ids.insert(request.id).second)
    return invalid_argument("a request with the id \"" + request.id + "\" is running", "request_id");
  Message m;
  m.kind = Message::submit;
  m.arrival = e.clock.now_seconds();
  e.inbox_choices += request.n;
  m.request = std::move(request);
  e.inbox.push_back(std::move(m));
  e.wake.notify_one();
  return {};
}

void Engine::abort(const std::string& request_id) {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->live_ids.contains(request_id)) return;
  Message m;
  m.kind = Message::abort;
  m.id = request_id;
  impl_->inbox.push_back(std::move(m));
  impl_->wake.notify_one();
}

void Engine::stop_choice(const std::string& request_id, int index) {
  std::lock_guard lock(impl_->mutex);
  if (!impl_->live_ids.contains(request_id)) return;
  Message m;
  m.kind = Message::stop_choice;
  m.id = request_id;
  m.index = index;
  impl_->inbox.push_back(std::move(m));
  impl_->wake.notify_one();
}

EngineStats Engine::stats() const {
  std::lock_guard lock(impl_->mutex);
  EngineStats s = impl_->stats;
  s.num_waiting += impl_->inbox_choices;
  return s;
}

const EngineConfig& Engine::config() const { return impl_->config; }
const RunnerInfo& Engine::runner_info() const { return impl_->info; }
bool Engine::step() { return impl_->step(); }

}  // namespace hearth
