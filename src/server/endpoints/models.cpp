// /v1/models: one card a served name; /v1/models/{id}: that card.
#include "server/api/errors.h"
#include "server/http/endpoint_def.h"
#include "server/http/request_id.h"
#include "server/state.h"

namespace hearth {
namespace {

Json card(const ServedModel& model, const std::string& name) {
  Json permission = {{"id", "modelperm-" + random_hex(32)},
                     {"object", "model_permission"},
                     {"created", model.created},
                     {"allow_create_engine", false},
                     {"allow_sampling", true},
                     {"allow_logprobs", true},
                     {"allow_search_indices", false},
                     {"allow_view", true},
                     {"allow_fine_tuning", false},
                     {"organization", "*"},
                     {"group", nullptr},
                     {"is_blocking", false}};
  Json body = {{"id", name},
               {"object", "model"},
               {"created", model.created},
               {"owned_by", "hearth"},
               {"root", model.root},
               {"parent", nullptr},
               {"max_model_len", model.max_model_len},
               {"permission", Json::array({permission})}};
  for (const auto& [key, value] : model.card_extra.items()) body[key] = value;
  return body;
}

void list(ServerState& state, const ExchangePtr& exchange) {
  Json data = Json::array();
  for (const auto& model : state.service->models)
    for (const std::string& name : model->names) data.push_back(card(*model, name));
  HttpResponse response;
  response.body = dump_json({{"object", "list"}, {"data", std::move(data)}});
  exchange->respond(std::move(response));
}

void one(ServerState& state, const ExchangePtr& exchange) {
  const std::string& name = exchange->request().params.at("id");
  const auto model = state.find_model(name);
  if (!model) return exchange->respond(error_response(exchange->request().path, model.status()));
  HttpResponse response;
  response.body = dump_json(card(**model, name));
  exchange->respond(std::move(response));
}

void add_routes(Router& router) {
  router.add({"GET", "/v1/models", Weight::light, list, "the served models"});
  router.add({"GET", "/v1/models/{id...}", Weight::light, one, "one served model"});
}

}  // namespace

extern const EndpointDef endpoints_models;
const EndpointDef endpoints_models{"models", add_routes};

}  // namespace hearth
