// http_fuzz — what a client sends over one connection, as the server takes it: session, request parser, keys, CORS, routes,
// light endpoints; heavy ones answer here, in whole or as a stream. Whatever comes, every exchange ends and the session closes.
//
// Input     how the connection behaves (below), bytes a read gives (0: all), then what the client sends.
#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/log.h"
#include "server/app.h"
#include "server/http/session.h"
#include "server/testing/fake_service.h"
#include "server/testing/scripted_stream.h"

namespace {

using namespace hearth;

enum Behaviour : std::uint8_t {
  kGuarded = 1,       // keys, one origin, loopback only, a path prefix
  kClientLeaves = 2,  // right after its last byte, not after the answers
  kSlowReader = 4,    // takes few bytes at a time
  kBreaks = 8,        // a write fails
  kServerStops = 16,  // when all is read
  kResets = 32,       // then the client is gone at once
};

// The application, without the engine and the workers.
class FuzzHandler final : public HttpHandler {
 public:
  explicit FuzzHandler(bool guarded) : app_(service(guarded)) {}

  void prepare(HttpRequest& request) override {
    ++open_;
    app_.prepare(request);
  }
  void handle(const ExchangePtr& x) override {
    const HttpRequest& request = x->request();
    query_value(request.query, "a");
    if (request.handler < 0 || app_.router().at(request.handler).weight == Weight::light) return app_.handle(x);
    if (request.body.empty()) return x->respond({200, "text/plain", request.method, request.headers});
    if (request.body[0] == 'h') {  // never answered; ends when the client goes
      x->on_cancel([](std::string_view reason) { HEARTH_CHECK(!reason.empty()); });
      held_.push_back(x);
      return;
    }
    if (request.body[0] == 't') throw std::runtime_error("thrown");
    x->start_stream({200, "text/event-stream", "", {}}, ": idle\n\n", 100);
    x->write("data: " + request.body.substr(0, 40) + "\n\n");
    if (request.body[0] == 'l') {  // the rest comes later
      x->post([x] {
        x->write("data: later\n\n");
        x->post([x] { x->finish(x->request().body.size() % 2 != 0); });
      });
    } else {
      x->finish();
    }
  }
  void decorate(const HttpRequest& request, HttpResponse& response) override { app_.decorate(request, response); }
  HttpResponse protocol_error(const HttpRequest& request, int status, const std::string& message) override {
    HEARTH_CHECK(status >= 400 && status < 600 && !message.empty());
    return app_.protocol_error(request, status, message);
  }
  void finished(const ExchangeSummary& summary) override {
    --open_;
    app_.finished(summary);
  }

  void drop_held() { held_.clear(); }
  int open() const { return open_; }

 private:
  static std::shared_ptr<Service> service(bool guarded) {
    testing::FakeOptions o;
    o.config.access_log = false;
    o.config.http_threads = 1;
    if (guarded) {
      o.config.host = "127.0.0.1";
      o.config.api_keys = {"key"};
      o.config.protect_metrics = true;
      o.config.root_path = "/base";
      o.config.allowed_origins = {"http://a"};
      o.config.allowed_methods = {"GET"};
      o.config.allowed_headers = {"x-one"};
      o.config.allow_credentials = true;
    }
    return testing::fake_service(o);
  }

  App app_;
  std::vector<ExchangePtr> held_;
  int open_ = 0;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  [[maybe_unused]] static const bool quiet = (set_log_level(LogLevel::off), true);
  static FuzzHandler& open = *new FuzzHandler(false);
  static FuzzHandler& guarded = *new FuzzHandler(true);
  const std::uint8_t how = data[0];
  FuzzHandler& handler = (how & kGuarded) != 0 ? guarded : open;

  const auto script = std::make_shared<testing::Script>();
  script->incoming.assign(reinterpret_cast<const char*>(data + 2), size - 2);
  script->read_piece = data[1] != 0 ? data[1] : size;
  script->write_piece = (how & kSlowReader) != 0 ? 100 : 1 << 20;
  if ((how & kBreaks) != 0) script->write_limit = 300;
  script->ended = (how & kClientLeaves) != 0;

  boost::asio::io_context io;
  const auto bodies = std::make_shared<BodyBudget>();
  int closed = 0;
  {
    SessionLimits limits;
    limits.parser = {.max_header_bytes = 2048, .max_header_count = 16, .max_body_bytes = 512};
    limits.stream_buffer_bytes = 100;
    const std::shared_ptr<Session> session = make_session(std::make_unique<testing::ScriptedStream>(io, script), limits,
                                                          handler, bodies, [&closed](Session*) { ++closed; });
    session->start();
    io.poll();
    if ((how & kServerStops) != 0) session->stop_soon();
    io.restart();
    io.poll();
    script->ended = true;
    if ((how & kResets) != 0)
      testing::ScriptedStream::reset(io, *script);
    else
      testing::ScriptedStream::wake(io, *script);
    io.restart();
    io.poll();
    session->stop_now();
    io.restart();
    io.poll();
  }
  handler.drop_held();  // letting go of an exchange is an answer, too
  io.restart();
  io.poll();
  HEARTH_CHECK_EQ(closed, 1);
  HEARTH_CHECK_EQ(handler.open(), 0);
  HEARTH_CHECK_EQ(bodies->held.load(), 0);
  HEARTH_CHECK(script->closed && script.use_count() == 1);
  return 0;
}
