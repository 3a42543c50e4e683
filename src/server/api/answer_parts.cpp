#include "server/api/answer_parts.h"

#include <ctime>

#include "server/api/errors.h"
#include "server/http/request_id.h"

namespace hearth {

AnswerHead make_head(const ServerState& state, const ServedModel& model, std::string id) {
  return {std::move(id), static_cast<std::int64_t>(std::time(nullptr)), model.names.front(),
          state.fingerprint.empty() ? Json(nullptr) : Json(state.fingerprint)};
}

std::string answer_id(const char* prefix, const Json& body, const HttpRequest& request) {
  const std::string asked = text(body, "request_id");
  return prefix + (asked.empty() ? request.id : request_id_from(asked));
}

Json usage_json(const GenerationTotals& totals, const ServerConfig& config) {
  Json usage = {{"prompt_tokens", totals.prompt_tokens},
                {"total_tokens", totals.prompt_tokens + totals.completion_tokens},
                {"completion_tokens", totals.completion_tokens}};
  if (config.enable_prompt_tokens_details) usage["prompt_tokens_details"] = {{"cached_tokens", totals.cached_tokens}};
  return usage;
}

Json metrics_json(const GenerationTotals& totals) {
  const RequestTimes& t = totals.times;
  const auto ms = [](double from, double to) {
    return from > 0 && to >= from ? Json((to - from) * 1e3) : Json(nullptr);
  };
  const double decode = t.last_token - t.first_token;
  const int steps = totals.completion_tokens - 1;
  return {{"time_to_first_token_ms", ms(t.arrival, t.first_token)},
          {"generation_time_ms", ms(t.first_token, t.last_token)},
          {"queue_time_ms", ms(t.arrival, t.first_scheduled)},
          {"mean_itl_ms", steps > 0 ? Json(decode * 1e3 / steps) : Json(nullptr)},
          {"tokens_per_second", steps > 0 && decode > 0 ? Json(steps / decode) : Json(nullptr)}};
}

void respond_json(const ExchangePtr& exchange, const Json& body) {
  HttpResponse response;
  response.body = dump_json(body);
  exchange->respond(std::move(response));
}

void respond_error(const ExchangePtr& exchange, const Status& status) {
  exchange->respond(error_response(exchange->request().path, status));
}

}  // namespace hearth
