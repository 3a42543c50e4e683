// router.h — paths and methods to handlers.
//
// Patterns  "/v1/models", "/v1/models/{id}" (one segment), "/v1/models/{id...}" (the rest, slashes included; never empty).
//           Paths are compared decoded, so an id matches whether its slashes came raw or as %2F. A trailing slash is ignored.
//           Of several patterns the one that was added first wins.
// Threads   add(): before serving. match(): any.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"

namespace hearth {

struct ServerState;
struct FieldTable;

// Where a handler runs. `light` ones answer at once on the connection's thread; `heavy` ones (JSON, templates, tokenising) on
// the workers, so that health checks and model lists never wait for a long prompt.
enum class Weight { light, heavy };

using Handler = std::function<void(ServerState&, const ExchangePtr&)>;

struct Route {
  std::string method, pattern;
  Weight weight = Weight::light;
  Handler handler;
  std::string summary;                      // one line, for /openapi.json
  const FieldTable* (*fields)() = nullptr;  // of the JSON body, when there is one
};

class Router {
 public:
  void add(Route route) { routes_.push_back(std::move(route)); }

  // Fills request.route, request.params, request.handler (-1: none). HEAD finds GET.
  // Returns the methods allowed on this path; empty: the path is unknown.
  std::vector<std::string> match(HttpRequest& request) const;
  const Route& at(int handler) const { return routes_[static_cast<std::size_t>(handler)]; }
  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

}  // namespace hearth
