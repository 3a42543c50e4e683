// /v1/chat/completions, and /v1/chat/completions/render, which answers with the prompt instead.
#include "server/api/chat_answer.h"
#include "server/api/errors.h"
#include "server/http/endpoint_def.h"

namespace hearth {
namespace {

void chat(ServerState& state, const ExchangePtr& exchange) {
  Result<Json> body = read_json_body(exchange->request());
  if (!body) return respond_error(exchange, body.status());
  Result<ChatRequest> request = read_chat_request(state, *body);
  if (!request) return respond_error(exchange, request.status());

  GenerationInput input;
  input.model = request->model;
  input.id = answer_id("chatcmpl-", *body, exchange->request());
  input.prompts = {request->prompt.ids};
  input.max_tokens = {request->max_tokens};
  input.params = request->params;
  auto answer = make_chat_answer(state, exchange, make_head(state, *request->model, input.id), *request);
  start_generation(state, exchange, std::move(input), std::move(answer));
}

void render(ServerState& state, const ExchangePtr& exchange) {
  Result<Json> body = read_json_body(exchange->request());
  if (!body) return respond_error(exchange, body.status());
  const Result<ChatRequest> request = read_chat_request(state, *body);
  if (!request) return respond_error(exchange, request.status());
  respond_json(exchange, {{"prompt", request->prompt.text},
                          {"prompt_token_ids", request->prompt.ids},
                          {"max_tokens", request->max_tokens}});
}

void add_routes(Router& router) {
  router.add({"POST", "/v1/chat/completions", Weight::heavy, chat, "answers a conversation", chat_fields});
  router.add({"POST", "/v1/chat/completions/render", Weight::heavy, render, "the prompt that a conversation becomes",
              chat_fields});
}

}  // namespace

extern const EndpointDef endpoints_chat_completions;
const EndpointDef endpoints_chat_completions{"chat completions", add_routes};

}  // namespace hearth
