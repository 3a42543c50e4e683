#include "server/api/generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>
#include <variant>

#include "base/log.h"
#include "server/http/request_id.h"
#include "text/detokenizer.h"
#include "text/stop_strings.h"

namespace hearth {
namespace {

struct PromptRows {
  int prompt;
  std::vector<TokenOutput> rows;
};
struct Output {
  int prompt;
  ChoiceOutput output;
};
struct Done {
  RequestTimes times;
  int num_cached_tokens, num_preemptions;
};
using Event = std::variant<PromptRows, Output, Done>;

struct Choice {
  Choice(const Tokenizer& tokenizer, const GenerationParams& p)
      : detokenizer(tokenizer, p.skip_special), stops(p.stop, p.include_stop) {}
  Detokenizer detokenizer;
  StopStrings stops;
  int num_tokens = 0;
  bool done = false, started = false;
  TextDelta pending;  // not yet said, under stream_interval
  std::string said;   // for the log, under log_outputs
};

std::string cut_for_log(const ServerConfig& config, std::string text) {
  if (config.max_log_len >= 0 && text.size() > static_cast<std::size_t>(config.max_log_len))
    text.resize(static_cast<std::size_t>(config.max_log_len));
  return text;
}

class Generation final : public std::enable_shared_from_this<Generation> {
 public:
  Generation(ServerState& state, ExchangePtr exchange, GenerationInput input, std::unique_ptr<Answer> answer)
      : state_(state), exchange_(std::move(exchange)), in_(std::move(input)), answer_(std::move(answer)) {
    ++state_.load;
    for (std::size_t p = 0; p < in_.prompts.size(); ++p) {
      engine_ids_.push_back(fmt::format("{}-{}-{}", in_.id, p, random_hex(8)));  // a client may send one id twice
      totals_.prompt_tokens += static_cast<int>(in_.prompts[p].size());
      for (int i = 0; i < in_.params.n; ++i) choices_.emplace_back(*in_.model->tokenizer, in_.params);
    }
    prompts_left_ = static_cast<int>(in_.prompts.size());
  }
  ~Generation() { --state_.load; }

  void start();
  void put(Event event);

 private:
  void drain();
  void on(PromptRows& e) {
    if (!ended_) answer_->on_prompt_logprobs(e.prompt, std::move(e.rows));
  }
  void on(Output& e);
  void on(Done& e);
  void deliver(Choice& choice, TextDelta delta);
  Json stop_reason(std::int32_t stop_token) const;
  void fail(const Status& status);
  void abort_all() {
    for (const std::string& id : engine_ids_) in_.model->engine->abort(id);
  }
  void log_end(const Done& e) const;

  ServerState& state_;
  ExchangePtr exchange_;
  GenerationInput in_;
  std::unique_ptr<Answer> answer_;
  std::vector<std::string> engine_ids_;
  std::vector<Choice> choices_;
  GenerationTotals totals_;
  int prompts_left_ = 0;
  bool ended_ = false;    // answered, failed, or the client has gone
  std::string finishes_;  // for the log
  std::mutex mutex_;
  std::vector<Event> queue_;
};

class Sink final : public OutputSink {
 public:
  Sink(std::shared_ptr<Generation> generation, int prompt) : generation_(std::move(generation)), prompt_(prompt) {}
  void on_prompt_logprobs(std::vector<TokenOutput> rows) override {
    generation_->put(PromptRows{prompt_, std::move(rows)});
  }
  void on_output(ChoiceOutput output) override { generation_->put(Output{prompt_, std::move(output)}); }
  void on_done(const RequestTimes& times, int cached, int preemptions) override {
    generation_->put(Done{times, cached, preemptions});
  }

 private:
  std::shared_ptr<Generation> generation_;
  int prompt_;
};

void Generation::start() {
  const ServerConfig& config = state_.config();
  if (config.log_requests) {
    const std::string prompt = cut_for_log(config, in_.model->tokenizer->decode(in_.prompts.front(), false));
    log_info("request={} prompts={} prompt_tokens={} n={} max_tokens={} temperature={} prompt={}", in_.id,
             in_.prompts.size(), totals_.prompt_tokens, in_.params.n, in_.max_tokens.front(),
             in_.params.sampling.temperature, dump_json(prompt));
  }
  // Everything on the strand, so that the head of a stream is written before the engine's first output is looked at.
  exchange_->post([self = shared_from_this()] {
    self->exchange_->on_cancel([weak = self->weak_from_this()](std::string_view reason) {
      if (const auto g = weak.lock()) {
        log_debug("{}: cancelled, {}", g->in_.id, reason);
        g->ended_ = true;
        g->abort_all();
      }
    });
    if (self->ended_) return;
    for (std::size_t p = 0; p < self->in_.prompts.size(); ++p) {
      Request request;
      request.id = self->engine_ids_[p];
      request.prompt = self->in_.prompts[p];
      request.sampling = self->in_.params.sampling;
      request.n = self->in_.params.n;
      request.max_tokens = self->in_.max_tokens[p];
      request.priority = self->in_.params.priority;
      request.sink = std::make_shared<Sink>(self, static_cast<int>(p));
      if (const Status status = self->in_.model->engine->submit(std::move(request)); !status.ok()) {
        self->abort_all();
        self->fail(status);
        return;
      }
    }
    self->answer_->on_admitted();
  });
}

// The first event of a batch posts; those that come before the strand gets to it ride along.
void Generation::put(Event event) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back(std::move(event));
    if (queue_.size() > 1) return;
  }
  exchange_->post([self = shared_from_this()] { self->drain(); });
}

void Generation::drain() {
  std::vector<Event> events;
  {
    const std::lock_guard lock(mutex_);
    events.swap(queue_);
  }
  try {
    for (Event& event : events) std::visit([this](auto& e) { on(e); }, event);
  } catch (const std::exception& e) {
    log_error("{}: {}", in_.id, e.what());
    abort_all();
    fail({Code::internal, "internal error", {}});
  }
}

Json Generation::stop_reason(std::int32_t token) const {
  const auto primary = in_.model->tokenizer->eos_id();
  const auto& own = in_.params.sampling.stop_token_ids;
  const bool asked = std::find(own.begin(), own.end(), token) != own.end();
  if (token < 0 ||
      (!asked &&
       (primary ? token == *primary : !in_.model->eos_token_ids.empty() && token == in_.model->eos_token_ids.front())))
    return nullptr;
  return token;
}

void Generation::on(Output& e) {
  if (ended_) return;
  ChoiceOutput& output = e.output;
  const int index = e.prompt * in_.params.n + output.index;
  Choice& choice = choices_[static_cast<std::size_t>(index)];
  if (choice.done) return;
  if (output.finish == FinishReason::error) {
    abort_all();
    return fail(output.error.ok() ? Status{Code::internal, "generation failed", {}} : output.error);
  }

  TextDelta delta;
  delta.choice = index;
  const bool ended_by_token = output.finish == FinishReason::stop && output.stop_token >= 0;
  for (std::size_t i = 0; i < output.tokens.size(); ++i) {
    TokenOutput& token = output.tokens[i];
    ++choice.num_tokens;
    ++totals_.completion_tokens;
    // The token that ends an answer is no part of its text, unless stop text is wanted.
    const bool ending =
        ended_by_token && i + 1 == output.tokens.size() && token.token == output.stop_token && !in_.params.include_stop;
    if (!ending)
      delta.text +=
          choice.stops.push(choice.detokenizer.push(token.token), choice.num_tokens > in_.params.sampling.min_tokens);
    delta.tokens.push_back(std::move(token));
    if (choice.stops.matched()) break;
  }
  if (output.finish != FinishReason::none && !choice.stops.matched()) {
    delta.text += choice.stops.push(choice.detokenizer.finish(), choice.num_tokens > in_.params.sampling.min_tokens);
    if (!choice.stops.matched()) delta.text += choice.stops.finish();
  }
  if (choice.stops.matched()) {
    delta.finished = true;
    delta.finish = FinishReason::stop;
    delta.stop_reason = *choice.stops.matched();
    if (output.finish == FinishReason::none)
      in_.model->engine->stop_choice(engine_ids_[static_cast<std::size_t>(e.prompt)], output.index);
  } else if (output.finish != FinishReason::none) {
    delta.finished = true;
    delta.finish = output.finish;
    if (output.finish == FinishReason::stop) delta.stop_reason = stop_reason(output.stop_token);
  }
  choice.done = delta.finished;
  if (const ServerConfig& config = state_.config(); config.log_outputs) {
    choice.said += delta.text;
    if (delta.finished)
      log_info("request={} choice={} output={}", in_.id, index, dump_json(cut_for_log(config, std::move(choice.said))));
  }
  if (delta.finished) finishes_ += (finishes_.empty() ? "" : ",") + std::string(finish_reason_name(delta.finish));
  deliver(choice, std::move(delta));
}

// Under stream_interval a delta waits until it holds enough tokens; the first and the last never wait.
void Generation::deliver(Choice& choice, TextDelta delta) {
  TextDelta& pending = choice.pending;
  if (!pending.tokens.empty() || !pending.text.empty()) {
    pending.text += delta.text;
    for (TokenOutput& t : delta.tokens) pending.tokens.push_back(std::move(t));
    delta.text = std::move(pending.text);
    delta.tokens = std::move(pending.tokens);
    pending = {};
  }
  if (choice.started && !delta.finished && static_cast<int>(delta.tokens.size()) < in_.params.stream_interval) {
    pending = std::move(delta);
    return;
  }
  choice.started = true;
  answer_->on_delta(std::move(delta), totals_);
}

void Generation::on(Done& e) {
  totals_.cached_tokens += e.num_cached_tokens;
  totals_.times = e.times;
  if (--prompts_left_ > 0) return;
  if (state_.config().log_requests) log_end(e);
  if (ended_) return;
  ended_ = true;
  answer_->on_end(totals_);
}

void Generation::fail(const Status& status) {
  if (ended_) return;
  ended_ = true;
  answer_->on_error(status);
}

void Generation::log_end(const Done& e) const {
  const auto ms = [](double from, double to) { return from > 0 && to > 0 ? (to - from) * 1e3 : 0.0; };
  const RequestTimes& t = e.times;
  log_info(
      "request={} finished={} prompt_tokens={} completion_tokens={} cached_tokens={} queue_ms={:.1f} ttft_ms={:.1f} "
      "tpot_ms={:.2f} e2e_ms={:.1f} preemptions={}",
      in_.id, finishes_.empty() ? "abort" : finishes_, totals_.prompt_tokens, totals_.completion_tokens,
      totals_.cached_tokens, ms(t.arrival, t.first_scheduled), ms(t.arrival, t.first_token),
      totals_.completion_tokens > 1 ? ms(t.first_token, t.last_token) / (totals_.completion_tokens - 1) : 0.0,
      ms(t.arrival, t.last_token), e.num_preemptions);
}

}  // namespace

void start_generation(ServerState& state, const ExchangePtr& exchange, GenerationInput input,
                      std::unique_ptr<Answer> answer) {
  std::make_shared<Generation>(state, exchange, std::move(input), std::move(answer))->start();
}

}  // namespace hearth
