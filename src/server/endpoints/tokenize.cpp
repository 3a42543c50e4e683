// /tokenize: token ids of a prompt, or of chat messages as the chat endpoint would render them.
#include "server/api/chat_prompt.h"
#include "server/api/errors.h"
#include "server/api/fields.h"
#include "server/http/endpoint_def.h"
#include "server/state.h"

namespace hearth {
namespace {

const FieldTable* fields() {
  static const FieldTable table = join(
      "tokenize",
      {{
           {"model", FieldType::string, FieldUse::read, "the model; absent: the first", "test_tokenize"},
           {"prompt", FieldType::string, FieldUse::read, "text to tokenise", "test_tokenize"},
           {"add_special_tokens", FieldType::boolean, FieldUse::read,
            "BOS and EOS as the tokenizer adds them; true for a prompt, false for messages", "test_tokenize"},
           {"return_token_strs", FieldType::boolean, FieldUse::read, "also the tokens' spellings", "test_tokenize"},
       },
       chat_prompt_fields()});
  return &table;
}

Result<Json> answer(ServerState& state, const HttpRequest& request) {
  Result<Json> body = read_json_body(request);
  if (!body) return body.status();
  if (Status s = check_fields(*body, *fields()); !s.ok()) return s;
  const auto model = state.find_model(text(*body, "model"));
  if (!model) return model.status();
  const Tokenizer& tokenizer = *(*model)->tokenizer;

  std::vector<std::int32_t> ids;
  if (field(*body, "messages")) {
    Result<ChatPrompt> prompt = make_chat_prompt(*body, **model, state.config());
    if (!prompt) return prompt.status();
    ids = std::move(prompt->ids);
  } else if (const Json* prompt = field(*body, "prompt")) {
    ids = tokenizer.encode(prompt->get_ref<const std::string&>(), {flag(*body, "add_special_tokens", true), true});
  } else {
    return malformed("prompt or messages is required", "body.prompt");
  }

  Json spellings = nullptr;
  if (flag(*body, "return_token_strs")) {
    spellings = Json::array();
    for (const std::int32_t id : ids) spellings.push_back(std::string(tokenizer.spelling(id)));
  }
  return Json{{"count", ids.size()},
              {"max_model_len", (*model)->max_model_len},
              {"tokens", ids},
              {"token_strs", std::move(spellings)}};
}

void tokenize(ServerState& state, const ExchangePtr& exchange) {
  const Result<Json> result = answer(state, exchange->request());
  if (!result) return exchange->respond(error_response(exchange->request().path, result.status()));
  HttpResponse response;
  response.body = dump_json(*result);
  exchange->respond(std::move(response));
}

void add_routes(Router& router) {
  router.add({"POST", "/tokenize", Weight::heavy, tokenize, "token ids of a prompt or of messages", fields});
}

}  // namespace

extern const EndpointDef endpoints_tokenize;
const EndpointDef endpoints_tokenize{"tokenize", add_routes};

}  // namespace hearth
