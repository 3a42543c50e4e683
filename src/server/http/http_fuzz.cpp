// http_fuzz — raw bytes through the request parser, the target, and the rules that look at a request, as a session does it:
// in pieces whose size the first byte chooses, several requests a connection.
#include <cstdint>

#include "server/http/auth.h"
#include "server/http/cors.h"
#include "server/http/host_guard.h"
#include "server/http/request_id.h"
#include "server/http/request_parser.h"
#include "server/http/router.h"

namespace {

void look_at(hearth::HttpRequest request) {
  using namespace hearth;
  static const Router router = [] {
    Router r;
    r.add({"GET", "/v1/models/{id...}", Weight::light, nullptr, {}});
    r.add({"POST", "/v1/responses/{id}/cancel", Weight::light, nullptr, {}});
    return r;
  }();
  static const Auth auth({"key"}, true);
  static const Cors any({}), strict({{"http://a"}, {"GET"}, {"x-one"}, true});
  router.match(request);
  auth.allows(request);
  HttpResponse response;
  any.preflight(request);
  any.decorate(request, response);
  strict.preflight(request);
  is_local_host_header(request.host, "box");
  request_id_from(request.headers.get("x-request-id"));
  query_value(request.query, "a");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t step = data[0] ? data[0] : size;
  const std::string_view bytes(reinterpret_cast<const char*>(data + 1), size - 1);
  hearth::RequestParser parser({.max_header_bytes = 8192, .max_header_count = 32, .max_body_bytes = 4096});
  std::string pending;
  for (std::size_t at = 0; at < bytes.size(); at += step) {
    pending.append(bytes.substr(at, step));
    for (;;) {
      const std::size_t used = parser.feed(pending);
      pending.erase(0, used);
      if (parser.failed()) return 0;
      if (parser.wants_continue()) parser.told_continue();
      if (!parser.done()) break;
      look_at(parser.take());
      if (parser.failed()) return 0;
      parser.reset();
      if (pending.empty()) break;
    }
  }
  return 0;
}
