// /tokenizer_info: what a client needs to use the tokenizer from afar; only with --enable-tokenizer-info-endpoint.
#include "server/api/answer_parts.h"
#include "server/api/errors.h"
#include "server/http/endpoint_def.h"

namespace hearth {
namespace {

void info(ServerState& state, const ExchangePtr& exchange) {
  if (!state.config().tokenizer_info_endpoint)
    return exchange->respond(error_response(exchange->request().path, 404, "Not Found"));
  const auto model = state.find_model({});
  if (!model) return respond_error(exchange, model.status());
  const Tokenizer& tokenizer = *(*model)->tokenizer;
  const auto spelled = [&](std::optional<std::int32_t> id) {
    return id ? Json(std::string(tokenizer.spelling(*id))) : Json(nullptr);
  };
  respond_json(exchange,
               {{"tokenizer_class", "PreTrainedTokenizerFast"},
                {"bos_token", spelled(tokenizer.bos_id())},
                {"eos_token", spelled(tokenizer.eos_id())},
                {"pad_token", spelled(tokenizer.pad_id())},
                {"vocab_size", tokenizer.vocab_size()},
                {"model_max_length", (*model)->max_model_len},
                {"chat_template", (*model)->chat_template ? Json((*model)->chat_template->source()) : Json(nullptr)}});
}

void add_routes(Router& router) {
  router.add({"GET", "/tokenizer_info", Weight::light, info,
              "special tokens and chat template; needs --enable-tokenizer-info-endpoint"});
}

}  // namespace

extern const EndpointDef endpoints_tokenizer_info;
const EndpointDef endpoints_tokenizer_info{"tokenizer info", add_routes};

}  // namespace hearth
