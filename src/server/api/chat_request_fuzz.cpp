// chat_request_fuzz — any bytes as the body of a chat and of a completion request: checked, merged, rendered; never more than
// a Status. What is accepted keeps its promises.
#include <cstdint>
#include <cstdlib>

#include "server/api/chat_request.h"
#include "server/api/completion_request.h"
#include "server/state.h"
#include "server/testing/fake_service.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check(const hearth::SamplingParams& s) {
  require(s.temperature >= 0 && s.temperature <= 2 && s.top_p > 0 && s.top_p <= 1 && s.min_p >= 0 && s.min_p <= 1);
  require(s.repetition_penalty > 0 && s.min_tokens >= 0);
  for (const auto& [id, bias] : s.logit_bias)
    require(id >= 0 && id < hearth::testing::CharTokenizer::kVocab && bias >= -100 && bias <= 100);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hearth;
  static ServerState& state = *[] {
    auto* s = new ServerState;
    s->service = testing::fake_service();
    s->service->config.trust_request_chat_template = true;
    s->metrics = s->service->metrics;
    return s;
  }();
  HttpRequest request;
  request.headers.add("Content-Type", "application/json");
  request.body.assign(reinterpret_cast<const char*>(data), size);
  Result<Json> body = read_json_body(request);
  if (!body) return 0;
  Json copy = *body;
  if (const auto r = read_chat_request(state, *body)) {
    check(r->params.sampling);
    require(!r->prompt.ids.empty() && r->max_tokens >= 1);
    require(static_cast<int>(r->prompt.ids.size()) + r->max_tokens <= r->model->max_model_len);
  }
  if (const auto r = read_completion_request(state, copy)) {
    check(r->params.sampling);
    require(!r->prompts.empty() && r->prompts.size() == r->max_tokens.size());
    for (std::size_t i = 0; i < r->prompts.size(); ++i)
      require(!r->prompts[i].empty() &&
              static_cast<int>(r->prompts[i].size()) + r->max_tokens[i] <= r->model->max_model_len);
  }
  return 0;
}
