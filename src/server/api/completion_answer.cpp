#include "server/api/completion_answer.h"

#include "server/api/errors.h"
#include "server/api/logprobs.h"
#include "server/http/sse.h"

namespace hearth {
namespace {

// A choice as far as it has been said: what comes first with echo, and the log-probability columns.
class CompletionBase : public Answer {
 public:
  CompletionBase(const ServerConfig& config, ExchangePtr exchange, AnswerHead head, CompletionRequest request)
      : config_(config),
        exchange_(std::move(exchange)),
        head_(std::move(head)),
        r_(std::move(request)),
        rows_(r_.prompts.size()),
        logprobs_(r_.prompts.size() * static_cast<std::size_t>(r_.params.n), LegacyLogprobs(r_.params.tokens_as_ids)) {}

  void on_prompt_logprobs(int prompt, std::vector<TokenOutput> rows) override {
    rows_[static_cast<std::size_t>(prompt)] = std::move(rows);
  }

 protected:
  std::size_t prompt_of(std::size_t choice) const { return choice / static_cast<std::size_t>(r_.params.n); }

  // The prompt's columns, before the first token of a choice.
  void echo_logprobs(std::size_t choice) {
    if (!r_.params.echo || r_.logprobs < 0) return;
    const auto& ids = r_.prompts[prompt_of(choice)];
    const auto& rows = rows_[prompt_of(choice)];
    for (std::size_t i = 0; i < ids.size(); ++i) {
      TokenOutput row = i < rows.size() ? rows[i] : TokenOutput{};
      row.token = ids[i];
      if (static_cast<int>(row.top.size()) > r_.logprobs) row.top.resize(static_cast<std::size_t>(r_.logprobs));
      logprobs_[choice].add(*r_.model->tokenizer, row, i == 0);
    }
  }
  void add_logprobs(std::size_t choice, const std::vector<TokenOutput>& tokens) {
    if (r_.logprobs < 0) return;
    for (const TokenOutput& t : tokens) logprobs_[choice].add(*r_.model->tokenizer, t);
  }
  Json take_logprobs(std::size_t choice) { return r_.logprobs < 0 ? Json(nullptr) : logprobs_[choice].take(); }
  Json base() const {
    return {{"id", head_.id}, {"object", "text_completion"}, {"created", head_.created}, {"model", head_.model}};
  }

  const ServerConfig& config_;
  ExchangePtr exchange_;
  AnswerHead head_;
  CompletionRequest r_;
  std::vector<std::vector<TokenOutput>> rows_;  // prompt log-probabilities
  std::vector<LegacyLogprobs> logprobs_;
};

Json ids_of(const std::vector<TokenOutput>& tokens) {
  Json ids = Json::array();
  for (const TokenOutput& t : tokens) ids.push_back(t.token);
  return ids;
}

// --- one object -------------------------------------------------------------------------------------------------------------

class CompletionWhole final : public CompletionBase {
 public:
  CompletionWhole(const ServerConfig& config, ExchangePtr exchange, AnswerHead head, CompletionRequest request)
      : CompletionBase(config, std::move(exchange), std::move(head), std::move(request)), choices_(logprobs_.size()) {}

  void on_delta(TextDelta delta, const GenerationTotals&) override {
    TextDelta& choice = choices_[static_cast<std::size_t>(delta.choice)];
    choice.text += delta.text;
    for (TokenOutput& t : delta.tokens) choice.tokens.push_back(std::move(t));
    choice.finish = delta.finish;
    choice.stop_reason = std::move(delta.stop_reason);
  }

  void on_end(const GenerationTotals& totals) override {
    Json choices = Json::array();
    for (std::size_t i = 0; i < choices_.size(); ++i) {
      const std::size_t p = prompt_of(i);
      const TextDelta& c = choices_[i];
      echo_logprobs(i);
      add_logprobs(i, c.tokens);
      const bool ids = r_.params.return_token_ids;
      choices.push_back({{"index", i},
                         {"text", (r_.params.echo ? r_.prompt_texts[p] : std::string()) + c.text},
                         {"logprobs", take_logprobs(i)},
                         {"finish_reason", finish_reason_name(c.finish)},
                         {"stop_reason", c.stop_reason},
                         {"token_ids", ids ? ids_of(c.tokens) : Json(nullptr)},
                         {"prompt_logprobs", r_.own_prompt_logprobs
                                                 ? prompt_logprobs_json(*r_.model->tokenizer, rows_[p], r_.prompts[p])
                                                 : Json(nullptr)},
                         {"prompt_token_ids", ids ? Json(r_.prompts[p]) : Json(nullptr)}});
    }
    Json body = base();
    body["choices"] = std::move(choices);
    body["service_tier"] = nullptr;
    body["system_fingerprint"] = head_.fingerprint;
    body["usage"] = usage_json(totals, config_);
    body["kv_transfer_params"] = nullptr;
    if (config_.per_request_metrics) body["metrics"] = metrics_json(totals);
    respond_json(exchange_, body);
  }

  void on_error(const Status& status) override { respond_error(exchange_, status); }

 private:
  std::vector<TextDelta> choices_;
};

// --- a stream ---------------------------------------------------------------------------------------------------------------

class CompletionStream final : public CompletionBase {
 public:
  CompletionStream(const ServerConfig& config, ExchangePtr exchange, AnswerHead head, CompletionRequest request)
      : CompletionBase(config, std::move(exchange), std::move(head), std::move(request)),
        sse_(exchange_),
        started_(logprobs_.size()),
        held_(logprobs_.size()) {}

  void on_admitted() override {
    sse_.open();
    admitted_ = true;
  }

  void on_delta(TextDelta delta, const GenerationTotals& so_far) override {
    const auto i = static_cast<std::size_t>(delta.choice);
    const bool first = !started_[i];
    started_[i] = true;
    if (first) {
      echo_logprobs(i);
      if (r_.params.echo) delta.text.insert(0, r_.prompt_texts[prompt_of(i)]);
    }
    std::vector<TokenOutput>& tokens = held_[i];
    for (TokenOutput& t : delta.tokens) tokens.push_back(std::move(t));
    if (delta.text.empty() && !delta.finished && !r_.params.return_token_ids) return;

    add_logprobs(i, tokens);
    Json choice = {{"index", i},
                   {"text", std::move(delta.text)},
                   {"logprobs", take_logprobs(i)},
                   {"finish_reason", delta.finished ? Json(finish_reason_name(delta.finish)) : Json(nullptr)},
                   {"stop_reason", delta.stop_reason}};
    if (r_.params.return_token_ids) {
      choice["token_ids"] = ids_of(tokens);
      if (first) choice["prompt_token_ids"] = r_.prompts[prompt_of(i)];
    }
    tokens.clear();
    Json event = base();
    event["choices"] = Json::array({std::move(choice)});
    if (r_.params.continuous_usage) event["usage"] = usage_json(so_far, config_);
    if (delta.finished && !r_.params.include_usage) event["system_fingerprint"] = head_.fingerprint;
    sse_.event(event);
  }

  void on_end(const GenerationTotals& totals) override {
    if (r_.params.include_usage) {
      Json event = base();
      event["choices"] = Json::array();
      event["usage"] = usage_json(totals, config_);
      if (!head_.fingerprint.is_null()) event["system_fingerprint"] = head_.fingerprint;
      sse_.event(event);
    }
    sse_.done();
  }

  void on_error(const Status& status) override {
    if (admitted_)
      sse_.error(openai_error(status));
    else
      respond_error(exchange_, status);
  }

 private:
  SseWriter sse_;
  bool admitted_ = false;
  std::vector<bool> started_;
  std::vector<std::vector<TokenOutput>> held_;
};

}  // namespace

std::unique_ptr<Answer> make_completion_answer(const ServerState& state, ExchangePtr exchange, AnswerHead head,
                                               CompletionRequest request) {
  const bool stream = request.params.stream;
  if (stream)
    return std::make_unique<CompletionStream>(state.config(), std::move(exchange), std::move(head), std::move(request));
  return std::make_unique<CompletionWhole>(state.config(), std::move(exchange), std::move(head), std::move(request));
}

}  // namespace hearth
