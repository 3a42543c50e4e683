// Router, CORS, keys, host guard, request ids, SSE framing: the rules without a socket.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "server/http/auth.h"
#include "server/http/cors.h"
#include "server/http/host_guard.h"
#include "server/http/request_id.h"
#include "server/http/response_writer.h"
#include "server/http/router.h"
#include "server/http/sse.h"

namespace hearth {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

HttpRequest ask(std::string method, std::string target, std::vector<std::pair<std::string, std::string>> headers = {}) {
  HttpRequest request;
  request.method = std::move(method);
  for (auto& [name, value] : headers) request.headers.add(name, value);
  EXPECT_TRUE(parse_target(target, request));
  return request;
}

Router sample_router() {
  Router router;
  router.add({"GET", "/v1/models", Weight::light, nullptr, {}});
  router.add({"GET", "/v1/models/{id...}", Weight::light, nullptr, {}});
  router.add({"POST", "/v1/responses/{id}/cancel", Weight::light, nullptr, {}});
  router.add({"POST", "/ping", Weight::light, nullptr, {}});
  router.add({"GET", "/ping", Weight::light, nullptr, {}});
  return router;
}

TEST(Router, FindsPathsParametersAndMethods) {
  const Router router = sample_router();
  HttpRequest r = ask("GET", "/v1/models");
  router.match(r);
  EXPECT_EQ(r.handler, 0);
  for (const char* target : {"/v1/models/Qwen/Qwen3", "/v1/models/Qwen%2FQwen3"}) {
    r = ask("GET", target);
    router.match(r);
    EXPECT_EQ(r.handler, 1);
    EXPECT_EQ(r.params.at("id"), "Qwen/Qwen3");
    EXPECT_EQ(r.route, "/v1/models/{id...}");
  }
  r = ask("POST", "/v1/responses/resp_1/cancel");
  router.match(r);
  EXPECT_EQ(r.handler, 2);
  EXPECT_EQ(r.params.at("id"), "resp_1");
  r = ask("HEAD", "/v1/models/");
  router.match(r);
  EXPECT_EQ(r.handler, 0);
}

TEST(Router, UnknownPathAndMethod) {
  const Router router = sample_router();
  HttpRequest r = ask("GET", "/v2/models");
  EXPECT_THAT(router.match(r), IsEmpty());
  EXPECT_EQ(r.handler, -1);
  r = ask("DELETE", "/ping");
  EXPECT_THAT(router.match(r), ElementsAre("GET", "HEAD", "POST"));
  EXPECT_EQ(r.handler, -1);
  EXPECT_EQ(r.route, "/ping");
  r = ask("POST", "/v1/responses/a/b/cancel");
  EXPECT_THAT(router.match(r), IsEmpty());
}

TEST(Auth, OpenAndClosedPaths) {
  const Auth auth({"sk-1", "sk-2"}, false);
  for (const char* open : {"/", "/health", "/ping", "/version", "/metrics", "/metrics/", "/load"})
    EXPECT_TRUE(auth.allows(ask("GET", open))) << open;
  for (const char* closed : {"/v1/models", "/tokenize", "/detokenize", "/api/tags", "/rerank", "/sleep", "/unknown"})
    EXPECT_FALSE(auth.allows(ask("GET", closed))) << closed;
  EXPECT_TRUE(auth.allows(ask("OPTIONS", "/v1/models")));
  EXPECT_FALSE(Auth({"k"}, true).allows(ask("GET", "/metrics")));
  EXPECT_TRUE(Auth({}, true).allows(ask("GET", "/v1/models")));
}

TEST(Auth, WaysToSendAKey) {
  const Auth auth({"sk-1", "sk-2"}, false);
  const auto with = [&](const char* name, const char* value) {
    return auth.allows(ask("GET", "/v1/models", {{name, value}}));
  };
  EXPECT_TRUE(with("Authorization", "Bearer sk-1"));
  EXPECT_TRUE(with("authorization", "bEARER   sk-2"));
  EXPECT_TRUE(with("x-api-key", "sk-1"));
  EXPECT_TRUE(with("api-key", "sk-2"));
  for (const char* wrong : {"Bearer ", "Bearer", "Bearer sk-", "Bearer sk-11", "Basic sk-1", "sk-1", ""})
    EXPECT_FALSE(with("Authorization", wrong)) << wrong;
  EXPECT_FALSE(with("x-api-key", ""));
}

TEST(Cors, DefaultsAllowEveryone) {
  const Cors cors({});
  HttpResponse response;
  cors.decorate(ask("GET", "/", {{"Origin", "http://a"}}), response);
  EXPECT_EQ(response.headers.get("access-control-allow-origin"), "*");
  EXPECT_EQ(response.headers.get("access-control-expose-headers"), "x-request-id");
  response = {};
  cors.decorate(ask("GET", "/"), response);
  EXPECT_TRUE(response.headers.empty());
  response = {};
  cors.decorate(ask("GET", "/", {{"Origin", "http://a"}, {"Cookie", "c"}}), response);
  EXPECT_EQ(response.headers.get("access-control-allow-origin"), "http://a");
  EXPECT_EQ(response.headers.get("vary"), "Origin");

  const auto preflight = cors.preflight(ask("OPTIONS", "/v1/models",
                                            {{"Origin", "http://a"},
                                             {"Access-Control-Request-Method", "POST"},
                                             {"Access-Control-Request-Headers", "authorization, x-stainless-os"}}));
  ASSERT_TRUE(preflight);
  EXPECT_EQ(preflight->status, 200);
  EXPECT_EQ(preflight->headers.get("access-control-allow-headers"), "authorization, x-stainless-os");
  EXPECT_THAT(std::string(preflight->headers.get("access-control-allow-methods")), HasSubstr("POST"));
  EXPECT_EQ(preflight->headers.get("access-control-max-age"), "600");
  EXPECT_FALSE(cors.preflight(ask("OPTIONS", "/v1/models", {{"Origin", "http://a"}})));
}

TEST(Cors, ExplicitLists) {
  const Cors cors({{"http://a"}, {"GET"}, {"x-one"}, true});
  const auto preflight = [&](const char* origin, const char* method, const char* headers) {
    return cors.preflight(ask(
        "OPTIONS", "/",
        {{"Origin", origin}, {"Access-Control-Request-Method", method}, {"Access-Control-Request-Headers", headers}}));
  };
  EXPECT_EQ(preflight("http://a", "GET", "X-One, content-type")->status, 200);
  EXPECT_EQ(preflight("http://a", "GET", "x-one")->headers.get("access-control-allow-origin"), "http://a");
  EXPECT_EQ(preflight("http://a", "GET", "x-one")->headers.get("access-control-allow-credentials"), "true");
  EXPECT_EQ(preflight("http://b", "GET", "x-one")->status, 400);
  EXPECT_EQ(preflight("http://b", "GET", "x-one")->headers.find("access-control-allow-origin"), nullptr);
  EXPECT_EQ(preflight("http://a", "POST", "x-one")->body, "Disallowed CORS method");
  EXPECT_EQ(preflight("http://a", "GET", "x-two")->body, "Disallowed CORS headers");
  HttpResponse response;
  cors.decorate(ask("GET", "/", {{"Origin", "http://b"}}), response);
  EXPECT_TRUE(response.headers.empty());
}

TEST(HostGuard, LocalNamesAndAddresses) {
  for (const char* host :
       {"localhost", "LOCALHOST:8000", "127.0.0.1:8000", "[::1]:8000", "[::1]", "::1", "10.1.2.3", "192.168.0.9:1",
        "172.16.0.1", "box", "box:8000", "x.localhost", "nas.local", "a.b.internal:80", "", "localhost."})
    EXPECT_TRUE(is_local_host_header(host, "box")) << host;
  for (const char* host : {"example.com", "evil.com:8000", "localhost.evil.com", "8.8.8.8", "172.32.0.1", ".local",
                           "boxx", "[2001:db8::1]"})
    EXPECT_FALSE(is_local_host_header(host, "box")) << host;
  EXPECT_TRUE(is_loopback_address("127.0.0.1"));
  EXPECT_TRUE(is_loopback_address("::1"));
  EXPECT_TRUE(is_loopback_address("[::1]"));
  EXPECT_FALSE(is_loopback_address("0.0.0.0"));
  EXPECT_FALSE(is_loopback_address(""));
}

TEST(RequestId, GivenOrMade) {
  EXPECT_EQ(request_id_from("abc-1"), "abc-1");
  for (const std::string& bad : {std::string(), std::string(257, 'x'), std::string("a\nb"), std::string("\x7f")}) {
    EXPECT_EQ(request_id_from(bad).size(), 32u);
    EXPECT_NE(request_id_from(bad), request_id_from(bad));
  }
}

TEST(Sse, OneLineAndABlankOne) {
  EXPECT_EQ(sse_event({{"a", "x\ny"}}), "data: {\"a\":\"x\\ny\"}\n\n");
  EXPECT_EQ(sse_event(Json::array({1}), "ping"), "event: ping\ndata: [1]\n\n");
}

TEST(ResponseWriter, HeadAndChunks) {
  HttpResponse response{200, "text/plain", "hi", {}};
  response.headers.set("x-bad", "a\r\nevil: 1");
  const std::string head = response_head(response, BodyFraming::content_length, false);
  EXPECT_THAT(head, HasSubstr("HTTP/1.1 200 OK\r\n"));
  EXPECT_THAT(head, HasSubstr("content-length: 2\r\n"));
  EXPECT_THAT(head, HasSubstr("connection: close\r\n"));
  EXPECT_EQ(head.find("evil"), std::string::npos);
  EXPECT_EQ(chunk("hello world, 17 b"), "11\r\nhello world, 17 b\r\n");
}

}  // namespace
}  // namespace hearth
