#include "server/api/chat_answer.h"

#include "server/api/errors.h"
#include "server/api/logprobs.h"
#include "server/http/sse.h"

namespace hearth {
namespace {

// What both forms need of the request.
struct Form {
  const ServerConfig& config;
  std::shared_ptr<ServedModel> model;
  AnswerHead head;
  GenerationParams params;
  bool logprobs;
  int top_logprobs;
  std::string role, echo_text;
  std::vector<std::int32_t> prompt_ids;
  std::string prompt_text;

  Json logprobs_of(const std::vector<TokenOutput>& tokens) const {
    return logprobs ? chat_logprobs(*model->tokenizer, tokens, top_logprobs, params.tokens_as_ids) : Json(nullptr);
  }
};

Json ids_of(const std::vector<TokenOutput>& tokens) {
  Json ids = Json::array();
  for (const TokenOutput& t : tokens) ids.push_back(t.token);
  return ids;
}

// --- one object -------------------------------------------------------------------------------------------------------------

class ChatWhole final : public Answer {
 public:
  ChatWhole(ExchangePtr exchange, Form form)
      : exchange_(std::move(exchange)), form_(std::move(form)), choices_(static_cast<std::size_t>(form_.params.n)) {}

  void on_prompt_logprobs(int, std::vector<TokenOutput> rows) override {
    prompt_logprobs_ = prompt_logprobs_json(*form_.model->tokenizer, rows, form_.prompt_ids);
  }

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
      const TextDelta& c = choices_[i];
      Json message = {{"role", form_.role}, {"content", form_.echo_text + c.text},
                      {"refusal", nullptr}, {"annotations", nullptr},
                      {"audio", nullptr},   {"function_call", nullptr}};
      choices.push_back({{"index", i},
                         {"message", std::move(message)},
                         {"logprobs", form_.logprobs_of(c.tokens)},
                         {"finish_reason", finish_reason_name(c.finish)},
                         {"stop_reason", c.stop_reason},
                         {"token_ids", form_.params.return_token_ids ? ids_of(c.tokens) : Json(nullptr)}});
    }
    Json body = {{"id", form_.head.id},
                 {"object", "chat.completion"},
                 {"created", form_.head.created},
                 {"model", form_.head.model},
                 {"choices", std::move(choices)},
                 {"service_tier", nullptr},
                 {"system_fingerprint", form_.head.fingerprint},
                 {"usage", usage_json(totals, form_.config)},
                 {"prompt_logprobs", prompt_logprobs_},
                 {"prompt_token_ids", form_.params.return_token_ids ? Json(form_.prompt_ids) : Json(nullptr)},
                 {"prompt_text", form_.params.return_prompt_text ? Json(form_.prompt_text) : Json(nullptr)},
                 {"kv_transfer_params", nullptr}};
    if (form_.config.per_request_metrics) body["metrics"] = metrics_json(totals);
    respond_json(exchange_, body);
  }

  void on_error(const Status& status) override { respond_error(exchange_, status); }

 private:
  ExchangePtr exchange_;
  Form form_;
  std::vector<TextDelta> choices_;
  Json prompt_logprobs_ = nullptr;
};

// --- a stream ---------------------------------------------------------------------------------------------------------------

class ChatStream final : public Answer {
 public:
  ChatStream(ExchangePtr exchange, Form form)
      : exchange_(std::move(exchange)),
        sse_(exchange_),
        form_(std::move(form)),
        started_(static_cast<std::size_t>(form_.params.n)),
        held_(static_cast<std::size_t>(form_.params.n)) {}

  void on_admitted() override {
    sse_.open();
    admitted_ = true;
  }

  void on_delta(TextDelta delta, const GenerationTotals& so_far) override {
    const auto i = static_cast<std::size_t>(delta.choice);
    if (!started_[i]) start_choice(delta.choice, so_far);
    // Tokens whose text is still held back ride with the next event, so that the log-probabilities are complete.
    std::vector<TokenOutput>& tokens = held_[i];
    for (TokenOutput& t : delta.tokens) tokens.push_back(std::move(t));
    if (delta.text.empty() && !delta.finished && !form_.params.return_token_ids) return;

    Json content = Json::object();
    if (!delta.text.empty()) content["content"] = std::move(delta.text);
    Json choice = {{"index", delta.choice},
                   {"delta", std::move(content)},
                   {"logprobs", form_.logprobs_of(tokens)},
                   {"finish_reason", delta.finished ? Json(finish_reason_name(delta.finish)) : Json(nullptr)}};
    if (delta.finished) choice["stop_reason"] = delta.stop_reason;
    if (form_.params.return_token_ids) choice["token_ids"] = ids_of(tokens);
    tokens.clear();
    Json event = chunk_with(std::move(choice), so_far);
    if (delta.finished && !form_.params.include_usage) event["system_fingerprint"] = form_.head.fingerprint;
    sse_.event(event);
  }

  void on_end(const GenerationTotals& totals) override {
    if (form_.params.include_usage) {
      Json event = base();
      event["choices"] = Json::array();
      event["usage"] = usage_json(totals, form_.config);
      if (!form_.head.fingerprint.is_null()) event["system_fingerprint"] = form_.head.fingerprint;
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
  Json base() const {
    return {{"id", form_.head.id},
            {"object", "chat.completion.chunk"},
            {"created", form_.head.created},
            {"model", form_.head.model}};
  }
  Json chunk_with(Json choice, const GenerationTotals& so_far) const {
    Json event = base();
    event["choices"] = Json::array({std::move(choice)});
    if (form_.params.continuous_usage) event["usage"] = usage_json(so_far, form_.config);
    return event;
  }

  // Only now that its first token exists: clients take the first chunk for the time to first token.
  void start_choice(int index, const GenerationTotals& so_far) {
    started_[static_cast<std::size_t>(index)] = true;
    Json event = chunk_with({{"index", index},
                             {"delta", {{"role", form_.role}, {"content", ""}}},
                             {"logprobs", nullptr},
                             {"finish_reason", nullptr}},
                            so_far);
    if (form_.params.return_token_ids) event["prompt_token_ids"] = form_.prompt_ids;
    if (form_.params.return_prompt_text) event["prompt_text"] = form_.prompt_text;
    sse_.event(event);
    if (!form_.echo_text.empty())
      sse_.event(chunk_with({{"index", index},
                             {"delta", {{"content", form_.echo_text}}},
                             {"logprobs", nullptr},
                             {"finish_reason", nullptr}},
                            so_far));
  }

  ExchangePtr exchange_;
  SseWriter sse_;
  Form form_;
  bool admitted_ = false;
  std::vector<bool> started_;
  std::vector<std::vector<TokenOutput>> held_;
};

}  // namespace

std::unique_ptr<Answer> make_chat_answer(const ServerState& state, ExchangePtr exchange, AnswerHead head,
                                         const ChatRequest& r) {
  Form form{state.config(), r.model, std::move(head), r.params,     r.logprobs,
            r.top_logprobs, r.role,  r.echo_text,     r.prompt.ids, r.prompt.text};
  if (r.params.stream) return std::make_unique<ChatStream>(std::move(exchange), std::move(form));
  return std::make_unique<ChatWhole>(std::move(exchange), std::move(form));
}

}  // namespace hearth
