// /v1/completions, and /v1/completions/render, which answers with the token ids instead.
#include "server/api/completion_answer.h"
#include "server/http/endpoint_def.h"

namespace hearth {
namespace {

void complete(ServerState& state, const ExchangePtr& exchange) {
  Result<Json> body = read_json_body(exchange->request());
  if (!body) return respond_error(exchange, body.status());
  Result<CompletionRequest> request = read_completion_request(state, *body);
  if (!request) return respond_error(exchange, request.status());

  GenerationInput input;
  input.model = request->model;
  input.id = answer_id("cmpl-", *body, exchange->request());
  input.prompts = request->prompts;
  input.max_tokens = request->max_tokens;
  input.params = request->params;
  AnswerHead head = make_head(state, *request->model, input.id);
  auto answer = make_completion_answer(state, exchange, std::move(head), std::move(*request));
  start_generation(state, exchange, std::move(input), std::move(answer));
}

void render(ServerState& state, const ExchangePtr& exchange) {
  Result<Json> body = read_json_body(exchange->request());
  if (!body) return respond_error(exchange, body.status());
  const Result<CompletionRequest> request = read_completion_request(state, *body);
  if (!request) return respond_error(exchange, request.status());
  Json prompts = Json::array();
  for (std::size_t i = 0; i < request->prompts.size(); ++i)
    prompts.push_back({{"prompt_token_ids", request->prompts[i]}, {"max_tokens", request->max_tokens[i]}});
  respond_json(exchange, {{"prompts", std::move(prompts)}});
}

void add_routes(Router& router) {
  router.add({"POST", "/v1/completions", Weight::heavy, complete, "continues prompts", completion_fields});
  router.add({"POST", "/v1/completions/render", Weight::heavy, render, "the token ids that prompts become",
              completion_fields});
}

}  // namespace

extern const EndpointDef endpoints_completions;
const EndpointDef endpoints_completions{"completions", add_routes};

}  // namespace hearth
