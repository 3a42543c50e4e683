// /detokenize: the text of token ids.
#include "server/api/errors.h"
#include "server/api/fields.h"
#include "server/http/endpoint_def.h"
#include "server/state.h"

namespace hearth {
namespace {

const FieldTable* fields() {
  static const FieldTable table = join(
      "detokenize",
      {{
          {"model", FieldType::string, FieldUse::read, "the model; absent: the first", "test_tokenize"},
          {.name = "tokens", .type = FieldType::array, .doc = "token ids", .test = "test_tokenize", .required = true},
      }});
  return &table;
}

Result<Json> answer(ServerState& state, const HttpRequest& request) {
  Result<Json> body = read_json_body(request);
  if (!body) return body.status();
  if (Status s = check_fields(*body, *fields()); !s.ok()) return s;
  const auto model = state.find_model(text(*body, "model"));
  if (!model) return model.status();
  const Tokenizer& tokenizer = *(*model)->tokenizer;
  const auto ids = token_ids(*field(*body, "tokens"), "tokens", tokenizer.vocab_size());
  if (!ids) return ids.status();
  return Json{{"prompt", tokenizer.decode(*ids, false)}};
}

void detokenize(ServerState& state, const ExchangePtr& exchange) {
  const Result<Json> result = answer(state, exchange->request());
  if (!result) return exchange->respond(error_response(exchange->request().path, result.status()));
  HttpResponse response;
  response.body = dump_json(*result);
  exchange->respond(std::move(response));
}

void add_routes(Router& router) {
  router.add({"POST", "/detokenize", Weight::heavy, detokenize, "the text of token ids", fields});
}

}  // namespace

extern const EndpointDef endpoints_detokenize;
const EndpointDef endpoints_detokenize{"detokenize", add_routes};

}  // namespace hearth
