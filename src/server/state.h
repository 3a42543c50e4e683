// state.h — what every handler gets: the service, the counters and the server's own condition.
//
// Threads   any; the members that change are atomic or have their own locks.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/result.h"
#include "obs/metrics.h"
#include "server/http/router.h"
#include "server/service.h"

namespace hearth {

struct ServerState {
  std::shared_ptr<Service> service;
  std::shared_ptr<Metrics> metrics;
  const Router* router = nullptr;
  std::string fingerprint;   // system_fingerprint; empty: null in answers
  std::atomic<int> load{0};  // generation requests in hand
  std::atomic<bool> stopping{false};

  const ServerConfig& config() const { return service->config; }
  // Empty name: the first model. Unknown: not_found, naming it.
  Result<std::shared_ptr<ServedModel>> find_model(const std::string& name) const;
};

// "hearth-0.1.0-1a2b3c4d" (full), "1a2b3c4d" (hash), "" (none); custom values pass through.
std::string make_fingerprint(const ServerConfig& config);

}  // namespace hearth
