// /health and /ping: 200 while every engine lives and the server takes requests, else 503.
#include "server/api/errors.h"
#include "server/http/endpoint_def.h"
#include "server/state.h"

namespace hearth {
namespace {

void health(ServerState& state, const ExchangePtr& exchange) {
  bool alive = !state.stopping && !state.service->models.empty();
  for (const auto& model : state.service->models) alive = alive && model->engine && model->engine->stats().alive;
  if (!alive)
    return exchange->respond(error_response(
        exchange->request().path,
        Status{Code::unavailable, state.stopping ? "the server is stopping" : "the engine is not running", {}}));
  HttpResponse response;
  response.content_type.clear();
  exchange->respond(std::move(response));
}

void add_routes(Router& router) {
  router.add({"GET", "/health", Weight::light, health, "200 when the server can answer requests, else 503"});
  router.add({"GET", "/ping", Weight::light, health, "as /health"});
  router.add({"POST", "/ping", Weight::light, health, "as /health"});
}

}  // namespace

extern const EndpointDef endpoints_health;
const EndpointDef endpoints_health{"health", add_routes};

}  // namespace hearth
