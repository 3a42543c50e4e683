// answer_parts.h — the pieces that chat and completion answers share.
#pragma once

#include <string>

#include "base/json.h"
#include "server/api/generation.h"
#include "server/http/exchange.h"
#include "server/state.h"

namespace hearth {

// What every object of an answer carries, fixed when the request is accepted.
struct AnswerHead {
  std::string id;
  std::int64_t created = 0;
  std::string model;  // the first served name
  Json fingerprint;   // string or null
};
AnswerHead make_head(const ServerState& state, const ServedModel& model, std::string id);

// "chatcmpl-<request_id of the body, else x-request-id>"
std::string answer_id(const char* prefix, const Json& body, const HttpRequest& request);

Json usage_json(const GenerationTotals& totals, const ServerConfig& config);
Json metrics_json(const GenerationTotals& totals);  // of --enable-per-request-metrics

void respond_json(const ExchangePtr& exchange, const Json& body);
void respond_error(const ExchangePtr& exchange, const Status& status);

}  // namespace hearth
