#include "server/api/errors.h"

namespace hearth {
namespace {

std::string_view anthropic_type(int http) {
  switch (http) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 413:
      return "request_too_large";
    case 429:
      return "rate_limit_error";
    case 503:
      return "overloaded_error";
    default:
      return http >= 500 ? "api_error" : "invalid_request_error";
  }
}

HttpResponse json_response(int http, const Json& body) {
  HttpResponse response;
  response.status = http;
  response.body = dump_json(body);
  if (http == 401) response.headers.set("www-authenticate", "Bearer");
  if (http == 429 || http == 503) response.headers.set("retry-after", "1");
  return response;
}

}  // namespace

Dialect dialect_of(std::string_view path) {
  if (path == "/" || path == "/api" || path.starts_with("/api/")) return Dialect::ollama;
  if (path.starts_with("/v1/messages")) return Dialect::anthropic;
  return Dialect::openai;
}

int http_status(Code code) {
  switch (code) {
    case Code::ok:
      return 200;
    case Code::malformed:
    case Code::invalid_argument:
    case Code::unimplemented:
      return 400;
    case Code::unauthenticated:
      return 401;
    case Code::not_found:
      return 404;
    case Code::method_not_allowed:
      return 405;
    case Code::too_large:
      return 413;
    case Code::resource_exhausted:
    case Code::unavailable:
      return 503;
    case Code::internal:
      return 500;
  }
  return 500;
}

std::string_view error_type(Code code) {
  switch (code) {
    case Code::malformed:
      return "Bad Request";
    case Code::unauthenticated:
      return "AuthenticationError";
    case Code::not_found:
      return "NotFoundError";
    case Code::method_not_allowed:
      return "Method Not Allowed";
    case Code::too_large:
      return "Content Too Large";
    case Code::resource_exhausted:
    case Code::unavailable:
      return "ServiceUnavailableError";
    case Code::ok:
    case Code::internal:
      return "InternalServerError";
    default:
      return "BadRequestError";
  }
}

Json error_body(Dialect dialect, int http, std::string_view type, const std::string& message,
                const std::string& param) {
  if (dialect == Dialect::ollama) return Json{{"error", message}};
  if (dialect == Dialect::anthropic)
    return Json{{"type", "error"}, {"error", {{"type", anthropic_type(http)}, {"message", message}}}};
  return Json{
      {"error",
       {{"message", message}, {"type", type}, {"param", param.empty() ? Json(nullptr) : Json(param)}, {"code", http}}}};
}

Json openai_error(const Status& status) {
  return error_body(Dialect::openai, http_status(status.code), error_type(status.code), status.message, status.param);
}

HttpResponse error_response(std::string_view path, const Status& status) {
  const int http = http_status(status.code);
  return json_response(http, error_body(dialect_of(path), http, error_type(status.code), status.message, status.param));
}

HttpResponse error_response(std::string_view path, int http, const std::string& message) {
  return json_response(
      http, error_body(dialect_of(path), http, http == 401 ? "AuthenticationError" : reason_phrase(http), message, {}));
}

}  // namespace hearth
