#include "server/app.h"

#include <fmt/ranges.h>
#include <malloc.h>

#include "base/log.h"
#include "server/api/errors.h"
#include "server/http/endpoint_def.h"
#include "server/http/host_guard.h"
#include "server/http/request_id.h"

namespace hearth {
namespace {

// What a body becomes (JSON values, texts, tokens) is many times its size. From here on they wait for one another and not
// the rest for them, and the memory goes back to the system afterwards.
constexpr std::size_t kLargeBody = std::size_t{2} << 20;

}  // namespace

App::App(std::shared_ptr<Service> service)
    : auth_(service->config.api_keys, service->config.protect_metrics),
      cors_({service->config.allowed_origins, service->config.allowed_methods, service->config.allowed_headers,
             service->config.allow_credentials}),
      loopback_only_(service->config.uds.empty() && is_loopback_address(service->config.host)),
      machine_name_(machine_name()),
      quiet_paths_(service->config.access_log_quiet_paths.begin(), service->config.access_log_quiet_paths.end()),
      workers_(std::make_unique<Workers>(service->config.http_threads)),
      large_(std::make_unique<Workers>(1)) {
  state_.fingerprint = make_fingerprint(service->config);
  state_.metrics = service->metrics;
  state_.service = std::move(service);
  state_.router = &router_;
  for (const EndpointDef* endpoint : all_endpoints()) endpoint->add_routes(router_);
}

App::~App() = default;

void App::prepare(HttpRequest& request) {
  const std::string& prefix = state_.config().root_path;
  if (!prefix.empty() && request.path.starts_with(prefix) &&
      (request.path.size() == prefix.size() || request.path[prefix.size()] == '/')) {
    request.path.erase(0, prefix.size());
    if (request.path.empty()) request.path = "/";
  }
  request.id = request_id_from(request.headers.get("x-request-id"));
  request.allowed_methods = router_.match(request);
}

void App::handle(const ExchangePtr& exchange) {
  const HttpRequest& request = exchange->request();
  if (loopback_only_ && !is_local_host_header(request.host, machine_name_))
    return exchange->respond(
        error_response(request.path, 403,
                       "this server listens on loopback only and does not answer to the name '" + request.host + "'"));
  if (std::optional<HttpResponse> preflight = cors_.preflight(request)) return exchange->respond(std::move(*preflight));
  if (!auth_.allows(request))
    return exchange->respond(error_response(request.path, 401,
                                            Auth::has_credentials(request)
                                                ? "the API key is not valid"
                                                : "an API key is needed: send Authorization: Bearer KEY"));

  if (request.handler < 0) {
    if (request.allowed_methods.empty()) return exchange->respond(error_response(request.path, 404, "Not Found"));
    HttpResponse response = request.method == "OPTIONS" ? HttpResponse{204, "", "", {}}
                                                        : error_response(request.path, 405, "Method Not Allowed");
    response.headers.set("allow", fmt::format("{}", fmt::join(request.allowed_methods, ", ")));
    return exchange->respond(std::move(response));
  }
  const Route& route = router_.at(request.handler);
  if (route.weight == Weight::light) return run(route, exchange);
  if (state_.stopping)
    return exchange->respond(error_response(request.path, Status{Code::unavailable, "the server is stopping", {}}));
  if (request.body.size() < kLargeBody) return workers_->post([this, &route, exchange] { run(route, exchange); });
  large_->post([this, &route, exchange] {
    run(route, exchange);
    exchange->drop_body();
    malloc_trim(0);
  });
}

void App::run(const Route& route, const ExchangePtr& exchange) {
  try {
    route.handler(state_, exchange);
  } catch (const std::exception& e) {
    log_error("{}: {}", request_line(exchange->request()), e.what());
    exchange->respond(error_response(exchange->request().path, Status{Code::internal, "internal error", {}}));
  }
}

void App::decorate(const HttpRequest& request, HttpResponse& response) {
  response.headers.set("x-request-id", request.id);
  cors_.decorate(request, response);
}

HttpResponse App::protocol_error(const HttpRequest& request, int status, const std::string& message) {
  return error_response(request.path, status, message);
}

void App::finished(const ExchangeSummary& summary) {
  const HttpRequest& request = *summary.request;
  state_.metrics->http_request(request.route, request.method, summary.status, summary.request_bytes,
                               summary.response_bytes, summary.seconds);
  if (!state_.config().access_log || log_level() > LogLevel::info || summary.status == 0) return;
  if (quiet_paths_.contains(request.path)) return;
  log_info("{} - \"{} HTTP/{}.{}\" {} {}", request.peer, request_line(request), request.version / 10,
           request.version % 10, summary.status, reason_phrase(summary.status));
}

}  // namespace hearth
