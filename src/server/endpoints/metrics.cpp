// /metrics: Prometheus text.
#include "server/http/endpoint_def.h"
#include "server/state.h"

namespace hearth {
namespace {

void metrics(ServerState& state, const ExchangePtr& exchange) {
  for (const auto& model : state.service->models)
    if (model->recorder && model->engine) model->recorder->refresh(model->engine->stats());
  HttpResponse response;
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  response.body = state.metrics->text();
  exchange->respond(std::move(response));
}

void add_routes(Router& router) {
  router.add({"GET", "/metrics", Weight::light, metrics, "counters in Prometheus text format"});
}

}  // namespace

extern const EndpointDef endpoints_metrics;
const EndpointDef endpoints_metrics{"metrics", add_routes};

}  // namespace hearth
