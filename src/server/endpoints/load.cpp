// /load: generation requests in hand; 0 unless --enable-server-load-tracking.
#include "server/http/endpoint_def.h"
#include "server/state.h"

namespace hearth {
namespace {

void load(ServerState& state, const ExchangePtr& exchange) {
  HttpResponse response;
  response.body = dump_json({{"server_load", state.config().server_load_tracking ? state.load.load() : 0}});
  exchange->respond(std::move(response));
}

void add_routes(Router& router) { router.add({"GET", "/load", Weight::light, load, "generation requests in hand"}); }

}  // namespace

extern const EndpointDef endpoints_load;
const EndpointDef endpoints_load{"load", add_routes};

}  // namespace hearth
