#include "server/http/cors.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hearth {
namespace {

bool contains(const std::vector<std::string>& list, std::string_view value) {
  return std::any_of(list.begin(), list.end(), [&](const std::string& x) { return equals_ignoring_case(x, value); });
}

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> out;
  while (!text.empty()) {
    std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    while (!part.empty() && part.front() == ' ') part.remove_prefix(1);
    while (!part.empty() && part.back() == ' ') part.remove_suffix(1);
    if (!part.empty()) out.emplace_back(part);
  }
  return out;
}

// Headers a browser may send to any origin without asking.
const std::vector<std::string>& safe_headers() {
  static const std::vector<std::string> list{"accept", "accept-language", "content-language", "content-type"};
  return list;
}

}  // namespace

Cors::Cors(CorsRules rules)
    : rules_(std::move(rules)),
      any_origin_(contains(rules_.origins, "*")),
      any_method_(contains(rules_.methods, "*")),
      any_header_(contains(rules_.headers, "*")) {}

bool Cors::allows_origin(std::string_view origin) const { return any_origin_ || contains(rules_.origins, origin); }

void Cors::add_origin(const HttpRequest& request, HttpResponse& response) const {
  const std::string_view origin = request.headers.get("origin");
  const bool echo = !any_origin_ || rules_.credentials || request.headers.find("cookie") != nullptr;
  response.headers.set("access-control-allow-origin", echo ? std::string(origin) : "*");
  if (echo) response.headers.add("vary", "Origin");
  if (rules_.credentials) response.headers.set("access-control-allow-credentials", "true");
}

std::optional<HttpResponse> Cors::preflight(const HttpRequest& request) const {
  const std::string* origin = request.headers.find("origin");
  const std::string* method = request.headers.find("access-control-request-method");
  if (request.method != "OPTIONS" || !origin || !method) return std::nullopt;

  HttpResponse response;
  response.content_type = "text/plain; charset=utf-8";
  std::vector<std::string> refused;
  if (!allows_origin(*origin)) refused.push_back("origin");
  if (!any_method_ && !contains(rules_.methods, *method)) refused.push_back("method");
  const std::string_view asked = request.headers.get("access-control-request-headers");
  if (!any_header_)
    for (const std::string& name : split_list(asked))
      if (!contains(rules_.headers, name) && !contains(safe_headers(), name)) {
        refused.push_back("headers");
        break;
      }

  if (allows_origin(*origin)) add_origin(request, response);
  response.headers.set("access-control-allow-methods", any_method_
                                                           ? "DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT"
                                                           : fmt::format("{}", fmt::join(rules_.methods, ", ")));
  if (any_header_ && !asked.empty()) response.headers.set("access-control-allow-headers", std::string(asked));
  if (!any_header_)
    response.headers.set("access-control-allow-headers",
                         fmt::format("{}, {}", fmt::join(safe_headers(), ", "), fmt::join(rules_.headers, ", ")));
  response.headers.set("access-control-max-age", "600");
  response.status = refused.empty() ? 200 : 400;
  response.body = refused.empty() ? "OK" : fmt::format("Disallowed CORS {}", fmt::join(refused, ", "));
  return response;
}

void Cors::decorate(const HttpRequest& request, HttpResponse& response) const {
  const std::string* origin = request.headers.find("origin");
  if (!origin || response.headers.find("access-control-allow-origin")) return;
  if (!allows_origin(*origin)) return;
  add_origin(request, response);
  response.headers.set("access-control-expose-headers", "x-request-id");
}

}  // namespace hearth
