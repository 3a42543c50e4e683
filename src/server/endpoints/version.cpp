// /version: the vLLM version whose surface this is, which clients parse, and our own.
#include "server/http/endpoint_def.h"
#include "server/state.h"

namespace hearth {
namespace {

void version(ServerState& state, const ExchangePtr& exchange) {
  HttpResponse response;
  response.body =
      dump_json({{"version", state.config().compat_version}, {"engine", "hearth " + state.config().engine_version}});
  exchange->respond(std::move(response));
}

void add_routes(Router& router) {
  router.add({"GET", "/version", Weight::light, version, "the version of the API and of the program"});
}

}  // namespace

extern const EndpointDef endpoints_version;
const EndpointDef endpoints_version{"version", add_routes};

}  // namespace hearth
