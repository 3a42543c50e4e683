// app.h — the rules between a socket and an endpoint: path prefix, request id, host guard, CORS, keys, routing, weights;
// and after the answer the access log and the HTTP counters.
//
// Owns      the routes, the state, the workers.
#pragma once

#include <set>

#include "server/http/auth.h"
#include "server/http/cors.h"
#include "server/http/exchange.h"
#include "server/state.h"
#include "server/workers.h"

namespace hearth {

class App final : public HttpHandler {
 public:
  explicit App(std::shared_ptr<Service> service);
  ~App() override;

  void prepare(HttpRequest& request) override;
  void handle(const ExchangePtr& exchange) override;
  void decorate(const HttpRequest& request, HttpResponse& response) override;
  HttpResponse protocol_error(const HttpRequest& request, int status, const std::string& message) override;
  void finished(const ExchangeSummary& summary) override;

  // Lets the heavy handlers in hand end. To be called before the server whose exchanges they hold goes.
  void finish_workers() {
    workers_.reset();
    large_.reset();
  }

  ServerState& state() { return state_; }
  const Router& router() const { return router_; }

 private:
  void run(const Route& route, const ExchangePtr& exchange);
  Router router_;
  ServerState state_;
  Auth auth_;
  Cors cors_;
  bool loopback_only_;
  std::string machine_name_;
  std::set<std::string, std::less<>> quiet_paths_;
  std::unique_ptr<Workers> workers_, large_;  // large_: one at a time, those with a large body
};

}  // namespace hearth
