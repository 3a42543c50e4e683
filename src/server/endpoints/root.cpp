// /: says what this is, as text or, for a browser, as a page.
#include <fmt/format.h>

#include "server/http/endpoint_def.h"
#include "server/state.h"

namespace hearth {
namespace {

constexpr const char* kPaths[] = {"/v1/chat/completions", "/v1/completions", "/v1/models", "/tokenize",
                                  "/detokenize",          "/health",         "/metrics",   "/openapi.json"};

std::string escaped(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '<')
      out += "&lt;";
    else if (c == '&')
      out += "&amp;";
    else
      out.push_back(c);
  }
  return out;
}

void root(ServerState& state, const ExchangePtr& exchange) {
  const std::string model = state.service->models.empty() ? "no model" : state.service->models.front()->names.front();
  const std::string title = fmt::format("hearth {} is running and serves {}", state.config().engine_version, model);
  const bool html = exchange->request().headers.get("accept").find("text/html") != std::string_view::npos;
  HttpResponse response;
  response.content_type = html ? "text/html; charset=utf-8" : "text/plain; charset=utf-8";
  if (html) {
    std::string list;
    for (const char* path : kPaths) list += fmt::format("<li><code>{}</code></li>\n", path);
    response.body = fmt::format(
        "<!doctype html>\n<html lang=\"en\"><head><meta "
        "charset=\"utf-8\"><title>hearth</title></head>\n<body><p>{}</p>\n"
        "<ul>\n{}</ul></body></html>\n",
        escaped(title), list);
  } else {
    response.body = title + "\n";
    for (const char* path : kPaths) response.body += fmt::format("  {}\n", path);
  }
  exchange->respond(std::move(response));
}

void add_routes(Router& router) { router.add({"GET", "/", Weight::light, root, "what this server is"}); }

}  // namespace

extern const EndpointDef endpoints_root;
const EndpointDef endpoints_root{"root", add_routes};

}  // namespace hearth
