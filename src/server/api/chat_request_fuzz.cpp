// chat_request_fuzz — any bytes as the body of a chat, completion, tokenize and detokenize request: checked, merged, rendered;
// never more than a Status. What is accepted keeps its promises.
#include <cstdint>
#include <cstdlib>

#include "base/log.h"
#include "server/api/chat_request.h"
#include "server/api/completion_request.h"
#include "server/http/endpoint_def.h"
#include "server/http/router.h"
#include "server/state.h"
#include "server/testing/fake_service.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

// An exchange that is answered at once, in whole.
class AnsweredExchange final : public hearth::Exchange {
 public:
  explicit AnsweredExchange(hearth::HttpRequest request) : request_(std::move(request)) {}
  const hearth::HttpRequest& request() const override { return request_; }
  void respond(hearth::HttpResponse response) override {
    require(++answers == 1 && (response.status == 200 || response.status >= 400));
    require(hearth::parse_json(response.body).ok());
  }
  void start_stream(hearth::HttpResponse, std::string, double) override { std::abort(); }
  void write(std::string) override { std::abort(); }
  void finish(bool) override { std::abort(); }
  void drop_body() override {}
  void post(std::function<void()>) override { std::abort(); }
  void on_cancel(std::function<void(std::string_view)>) override { std::abort(); }
  int answers = 0;

 private:
  hearth::HttpRequest request_;
};

void ask(hearth::ServerState& state, hearth::HttpRequest request, const char* path) {
  static const hearth::Router router = [] {
    hearth::Router r;
    for (const hearth::EndpointDef* endpoint : hearth::all_endpoints()) endpoint->add_routes(r);
    return r;
  }();
  request.method = "POST";
  request.path = path;
  router.match(request);
  const auto exchange = std::make_shared<AnsweredExchange>(std::move(request));
  router.at(exchange->request().handler).handler(state, exchange);
  require(exchange->answers == 1);
}

void check(const hearth::SamplingParams& s) {
  require(s.temperature >= 0 && s.temperature <= 2 && s.top_p > 0 && s.top_p <= 1 && s.min_p >= 0 && s.min_p <= 1);
  require(s.repetition_penalty > 0 && s.min_tokens >= 0);
  for (const auto& [id, bias] : s.logit_bias)
    require(id >= 0 && id < hearth::testing::CharTokenizer::kVocab && bias >= -100 && bias <= 100);
}

// One as it starts without flags, one that lets the client do the most.
hearth::ServerState& make_state(bool open) {
  using namespace hearth;
  set_log_level(LogLevel::error);
  testing::FakeOptions o;
  o.config.lenient_messages = open;
  o.config.trust_request_chat_template = open;
  o.config.clamp_max_tokens = open;
  o.config.special_tokens_parse = open;
  if (open) o.config.max_logprobs = -1;
  auto* s = new ServerState;
  s->service = testing::fake_service(o);
  s->metrics = s->service->metrics;
  return *s;
}

void read(hearth::ServerState& state, const hearth::HttpRequest& request) {
  using namespace hearth;
  ask(state, request, "/tokenize");
  ask(state, request, "/detokenize");
  Result<Json> body = read_json_body(request);
  if (!body) return;
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
      require(!r->prompts[i].empty() && r->max_tokens[i] >= 0 &&
              static_cast<int>(r->prompts[i].size()) + r->max_tokens[i] <= r->model->max_model_len);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static hearth::ServerState& open = make_state(true);
  static hearth::ServerState& closed = make_state(false);
  hearth::HttpRequest request;
  request.headers.add("Content-Type", "application/json");
  request.body.assign(reinterpret_cast<const char*>(data), size);
  read(open, request);
  read(closed, request);
  return 0;
}
