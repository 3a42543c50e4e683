// /server_info: each engine's limits and where it stands; development mode only.
#include "server/api/answer_parts.h"
#include "server/api/errors.h"
#include "server/http/endpoint_def.h"

namespace hearth {
namespace {

Json engine_json(const Engine& engine) {
  const EngineStats s = engine.stats();
  const EngineConfig& c = engine.config();
  return {{"max_model_len", c.max_model_len},
          {"max_num_seqs", c.max_num_seqs},
          {"max_num_batched_tokens", c.max_num_batched_tokens},
          {"num_running", s.num_running},
          {"num_waiting", s.num_waiting},
          {"num_blocks", s.num_blocks},
          {"num_free_blocks", s.num_free_blocks},
          {"num_state_slots", s.num_state_slots},
          {"num_free_state_slots", s.num_free_state_slots},
          {"num_steps", s.num_steps},
          {"num_prompt_tokens", s.num_prompt_tokens},
          {"num_generation_tokens", s.num_generation_tokens},
          {"num_preemptions", s.num_preemptions},
          {"busy_seconds", s.busy_seconds},
          {"scheduler_seconds", s.scheduler_seconds},
          {"alive", s.alive}};
}

void info(ServerState& state, const ExchangePtr& exchange) {
  if (!state.config().dev_mode) return exchange->respond(error_response(exchange->request().path, 404, "Not Found"));
  Json models = Json::array();
  for (const auto& model : state.service->models)
    models.push_back({{"names", model->names}, {"root", model->root}, {"engine", engine_json(*model->engine)}});
  respond_json(exchange, {{"version", state.config().engine_version}, {"models", std::move(models)}});
}

void add_routes(Router& router) {
  router.add({"GET", "/server_info", Weight::light, info, "the engines' limits and counters; development mode only"});
}

}  // namespace

extern const EndpointDef endpoints_server_info;
const EndpointDef endpoints_server_info{"server info", add_routes};

}  // namespace hearth
