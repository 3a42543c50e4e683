// The listener and its sessions on loopback, driven by raw sockets, with a handler that answers on command.
#include "server/http/http_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/un.h>

#include <atomic>
#include <chrono>
#include <mutex>
#include <thread>

#include "base/status.h"
#include "server/testing/raw_client.h"

namespace hearth {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// /echo answers with the body, /stream sends n pieces, /hang answers never and notes the cancel, /flood streams without end,
// /throw…, /drop and /again are handlers with faults.
class TestHandler final : public HttpHandler {
 public:
  void prepare(HttpRequest&) override {}
  void handle(const ExchangePtr& x) override {
    const std::string& path = x->request().path;
    if (path == "/echo") {
      x->respond({200, "text/plain", x->request().method + " " + x->request().body, {}});
    } else if (path == "/stream") {
      x->start_stream({200, "text/event-stream", "", {}});
      for (int i = 0; i < 3; ++i) x->write("data: " + std::to_string(i) + "\n\n");
      x->finish();
    } else if (path == "/quiet") {
      x->start_stream({200, "text/event-stream", "", {}}, ": keep-alive\n\n", 0.05);
      keep(x);
    } else if (path == "/hang") {
      ++hanging;
      x->on_cancel([this](std::string_view reason) {
        cancel_reason = std::string(reason);
        ++cancelled;
      });
      keep(x);
    } else if (path == "/flood") {
      x->start_stream({200, "text/plain", "", {}});
      x->on_cancel([this](std::string_view reason) {
        cancel_reason = std::string(reason);
        ++cancelled;
      });
      flood(x);
    } else if (path == "/throw") {
      throw std::runtime_error("boom");
    } else if (path == "/throw-later") {
      x->post([x] { throw std::runtime_error("boom"); });
    } else if (path == "/throw-in-stream") {
      x->start_stream({200, "text/plain", "", {}});
      x->write("begun");
      x->post([x] { throw std::runtime_error("boom"); });
    } else if (path == "/again") {
      x->start_stream({200, "text/plain", "", {}});
      x->write("begun");
      x->respond({200, "text/plain", "again", {}});
    } else if (path == "/drop") {
    } else {
      x->respond({404, "text/plain", "no", {}});
    }
  }
  void decorate(const HttpRequest&, HttpResponse&) override {}
  HttpResponse protocol_error(const HttpRequest&, int status, const std::string& message) override {
    return {status, "text/plain", message, {}};
  }
  void finished(const ExchangeSummary&) override { ++ended; }

  void flood(const ExchangePtr& x) {
    if (cancelled) return;
    x->write(std::string(10000, 'x'));
    x->post([this, x] { flood(x); });
  }

  void keep(const ExchangePtr& x) {
    const std::lock_guard lock(mutex);
    held = x;
    kept.push_back(x);
  }

  std::atomic<int> cancelled{0}, ended{0}, hanging{0};
  std::string cancel_reason;
  ExchangePtr held;  // the last
  std::vector<ExchangePtr> kept;
  std::mutex mutex;
};

using Client = ::hearth::testing::RawClient;

class HttpServerTest : public ::testing::Test {
 protected:
  void start(HttpOptions options = {}) {
    options.host = options.host.empty() ? "127.0.0.1" : options.host;
    options.port = 0;
    options.session.linger_seconds = 0.2;
    server = std::make_unique<HttpServer>(options);
    server->start(handler);
  }
  template <class F>
  static bool eventually(F f) {
    for (int i = 0; i < 500; ++i) {
      if (f()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return false;
  }
  void TearDown() override {
    if (server) server->stop();  // then nothing is kept any more
    handler.held = nullptr;
    handler.kept.clear();
    server.reset();
  }
  TestHandler handler;
  std::unique_ptr<HttpServer> server;
};

const std::string kEcho = "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi";

TEST_F(HttpServerTest, ByteByByte) {
  start();
  Client c(server->port());
  for (const char b : kEcho) c.send(std::string(1, b));
  EXPECT_THAT(c.read_until("POST hi"), StartsWith("HTTP/1.1 200 OK\r\n"));
}

TEST_F(HttpServerTest, PipelinedRequestsAreAnsweredInOrder) {
  start();
  Client c(server->port());
  std::string all;
  for (int i = 0; i < 50; ++i) all += "POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\n" + std::to_string(100 + i);
  c.send(all);
  const std::string got = c.read_until("POST 149");
  std::size_t at = 0;
  for (int i = 0; i < 50; ++i) {
    at = got.find("POST " + std::to_string(100 + i), at);
    ASSERT_NE(at, std::string::npos) << i;
  }
  EXPECT_TRUE(eventually([&] { return handler.ended == 50; }));
}

TEST_F(HttpServerTest, StreamsAreChunkedAndTheConnectionLives) {
  start();
  Client c(server->port());
  c.send("GET /stream HTTP/1.1\r\n\r\n" + kEcho);
  const std::string got = c.read_until("POST hi");
  EXPECT_THAT(got, HasSubstr("transfer-encoding: chunked\r\n"));
  EXPECT_THAT(got, HasSubstr("9\r\ndata: 0\n\n\r\n9\r\ndata: 1\n\n\r\n9\r\ndata: 2\n\n\r\n0\r\n\r\nHTTP/1.1 200"));
}

TEST_F(HttpServerTest, Http10EndsWithTheConnection) {
  start();
  Client c(server->port());
  c.send("GET /stream HTTP/1.0\r\n\r\n");
  const std::string got = c.read_all();
  EXPECT_EQ(got.find("chunked"), std::string::npos);
  EXPECT_THAT(got, HasSubstr("connection: close\r\n"));
  EXPECT_THAT(got, HasSubstr("\r\n\r\ndata: 0\n\ndata: 1\n\ndata: 2\n\n"));
}

TEST_F(HttpServerTest, ConnectionCloseIsHonouredAndHeadHasNoBody) {
  start();
  Client c(server->port());
  c.send("HEAD /echo HTTP/1.1\r\nConnection: close\r\n\r\n");
  const std::string got = c.read_all();
  EXPECT_THAT(got, HasSubstr("content-length: 5\r\n"));
  EXPECT_TRUE(got.ends_with("\r\n\r\n"));
}

TEST_F(HttpServerTest, ExpectIsAnswered) {
  start();
  Client c(server->port());
  c.send("POST /echo HTTP/1.1\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(c.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  c.send("hi");
  EXPECT_THAT(c.read_until("POST hi"), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, TooLargeIsRefusedBeforeTheBodyIsRead) {
  HttpOptions options;
  options.session.parser.max_body_bytes = 1000;
  start(options);
  Client c(server->port());
  c.send("POST /echo HTTP/1.1\r\nContent-Length: 100000\r\n\r\n" + std::string(100000, 'x'));
  EXPECT_THAT(c.read_all(), HasSubstr("413 Content Too Large"));
  Client again(server->port());
  again.send(kEcho);
  EXPECT_THAT(again.read_until("POST hi"), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, LargeBodiesBeyondTheBudgetAreRefusedAndTheBudgetComesBack) {
  HttpOptions options;
  options.session.most_body_bytes = 5 << 20;
  start(options);
  const std::string body(std::size_t{3} << 20, 'x');
  const std::string head = "POST /hang HTTP/1.1\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
  for (int round = 0; round < 2; ++round) {
    const int before = handler.hanging;
    Client first(server->port()), second(server->port());
    first.send(head + body);
    ASSERT_TRUE(eventually([&] { return handler.hanging == before + 1; }));
    second.send(head + body);
    EXPECT_THAT(second.read_all(), StartsWith("HTTP/1.1 503 Service Unavailable"));
    Client small(server->port());
    small.send(kEcho);
    EXPECT_THAT(small.read_until("POST hi"), HasSubstr("200 OK"));
    first.close();
    EXPECT_TRUE(eventually([&] { return server->num_connections() <= 1; }));
  }
}

TEST_F(HttpServerTest, GarbageAndExceptionsGetAnAnswer) {
  start();
  Client garbage(server->port());
  garbage.send("\x16\x03\x01 what is this\r\n\r\n");
  EXPECT_THAT(garbage.read_all(), HasSubstr("400 Bad Request"));
  Client thrower(server->port());
  thrower.send("GET /throw HTTP/1.1\r\n\r\n");
  EXPECT_THAT(thrower.read_until("internal"), HasSubstr("500 Internal Server Error"));
}

TEST_F(HttpServerTest, AHandlerWithAFaultEndsItsConnectionAlone) {
  start();
  for (const char* path : {"/throw", "/throw-later", "/drop"}) {
    Client c(server->port());
    c.send("GET " + std::string(path) + " HTTP/1.1\r\n\r\n" + kEcho);
    const std::string got = c.read_all();
    EXPECT_THAT(got, StartsWith("HTTP/1.1 500 Internal Server Error")) << path;
    EXPECT_THAT(got, HasSubstr("connection: close")) << path;
    EXPECT_THAT(got, Not(HasSubstr("POST hi"))) << path;  // what was sent ahead is not carried out
  }
  for (const char* path : {"/throw-in-stream", "/again"}) {
    Client c(server->port());
    c.send("GET " + std::string(path) + " HTTP/1.1\r\n\r\n");
    const std::string got = c.read_all();
    EXPECT_THAT(got, Not(HasSubstr("0\r\n\r\n"))) << path;  // the client sees that the answer is not whole
    EXPECT_THAT(got, Not(HasSubstr("500"))) << path;
  }
  EXPECT_TRUE(eventually([&] { return server->num_connections() == 0; }));
  EXPECT_EQ(handler.ended, 5);
}

TEST_F(HttpServerTest, AClientThatLeavesCancelsAndItsSocketIsClosed) {
  start();
  for (const bool reset : {false, true}) {
    const int before = handler.cancelled;
    Client c(server->port());
    c.send("GET /hang HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(eventually([&] { return handler.hanging > before; }));
    if (reset) c.reset();
    c.close();
    EXPECT_TRUE(eventually([&] { return handler.cancelled == before + 1; })) << reset;
    EXPECT_TRUE(eventually([&] { return server->num_connections() == 0; })) << reset;
  }
}

TEST_F(HttpServerTest, AClientThatSendsAndLeavesAtOnceLeavesNoSocket) {
  start();
  for (int i = 0; i < 60; ++i) {
    Client c(server->port());
    c.send(i % 3 == 2 ? "GET /quiet HTTP/1.1\r\n\r\n" : "GET /hang HTTP/1.1\r\n\r\n" + kEcho);
    if (i % 2) c.shutdown_send();
  }
  EXPECT_TRUE(eventually([&] { return handler.ended >= 60 && server->num_connections() == 0; }))
      << handler.ended << " " << server->num_connections();
}

TEST_F(HttpServerTest, AClientThatOnlyClosedItsSideGetsTheAnswerThenTheClose) {
  start();
  Client c(server->port());
  c.send("GET /hang HTTP/1.1\r\n\r\n" + kEcho + "POST /half");
  c.shutdown_send();
  EXPECT_EQ(c.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue\r\n\r\n");
  EXPECT_EQ(handler.cancelled, 0);
  handler.held->respond({200, "text/plain", "late", {}});
  const std::string got = c.read_all();
  EXPECT_THAT(got, HasSubstr("late"));
  EXPECT_THAT(got, HasSubstr("POST hi"));
  EXPECT_TRUE(eventually([&] { return server->num_connections() == 0; }));
}

TEST_F(HttpServerTest, AStreamGoesOnForAClientThatOnlyClosedItsSide) {
  start();
  Client c(server->port());
  c.send("GET /quiet HTTP/1.1\r\n\r\n");
  c.shutdown_send();
  c.read_until(": keep-alive\n\n\r\ne\r\n: keep-alive");
  handler.held->write("data: 1\n\n");
  handler.held->finish();
  EXPECT_TRUE(c.read_all().ends_with("data: 1\n\n\r\n0\r\n\r\n"));
  EXPECT_TRUE(eventually([&] { return server->num_connections() == 0; }));
}

TEST_F(HttpServerTest, AnHttp10ClientThatClosedItsSideIsToldWhy) {
  start();
  Client c(server->port());
  c.send("GET /hang HTTP/1.0\r\n\r\n");
  c.shutdown_send();
  EXPECT_THAT(c.read_all(), StartsWith("HTTP/1.1 400 Bad Request"));
  EXPECT_EQ(handler.cancelled, 1);
  EXPECT_TRUE(eventually([&] { return server->num_connections() == 0; }));
}

TEST_F(HttpServerTest, ASlowReaderIsCutOff) {
  HttpOptions options;
  options.session.stream_buffer_bytes = 100000;
  start(options);
  Client c(server->port(), 4096);
  c.send("GET /flood HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return handler.cancelled == 1; }));
  EXPECT_THAT(handler.cancel_reason, HasSubstr("reads too slowly"));
}

TEST_F(HttpServerTest, AReaderThatStallsIsCutOff) {
  HttpOptions options;
  options.session.stream_buffer_bytes = std::size_t{1} << 30;
  options.session.stall_seconds = 0.2;
  start(options);
  Client c(server->port(), 4096);
  c.send("GET /flood HTTP/1.1\r\n\r\n");
  EXPECT_TRUE(eventually([&] { return handler.cancelled == 1; }));
  EXPECT_THAT(handler.cancel_reason, HasSubstr("reads too slowly"));
}

TEST_F(HttpServerTest, HalfARequestTimesOut) {
  HttpOptions options;
  options.session.header_seconds = 0.2;
  options.session.body_seconds = 0.2;
  start(options);
  Client header(server->port()), body(server->port());
  header.send("POST /echo HTTP/1.1\r\nContent-Le");
  body.send("POST /echo HTTP/1.1\r\nContent-Length: 10\r\n\r\nabc");
  EXPECT_THAT(header.read_all(), HasSubstr("408 Request Timeout"));
  EXPECT_THAT(body.read_all(), HasSubstr("408 Request Timeout"));
}

TEST_F(HttpServerTest, IdleConnectionsCloseQuietly) {
  HttpOptions options;
  options.session.keep_alive_seconds = 0.2;
  start(options);
  Client c(server->port());
  EXPECT_EQ(c.read_all(), "");
}

TEST_F(HttpServerTest, CommentsWhileQuiet) {
  start();
  Client c(server->port());
  c.send("GET /quiet HTTP/1.1\r\n\r\n");
  const std::string got = c.read_until(": keep-alive\n\n\r\ne\r\n: keep-alive");
  EXPECT_THAT(got, HasSubstr("e\r\n: keep-alive\n\n\r\n"));
}

TEST_F(HttpServerTest, ManyConnections) {
  start();
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < 256; ++i) clients.push_back(std::make_unique<Client>(server->port()));
  for (auto& c : clients) c->send(kEcho);
  for (auto& c : clients) EXPECT_THAT(c->read_until("POST hi"), HasSubstr("200 OK"));
  EXPECT_TRUE(eventually([&] { return handler.ended == 256; }));
}

TEST_F(HttpServerTest, ABoundPortRefusesUntilItStarts) {
  HttpOptions options;
  options.host = "127.0.0.1";
  options.port = 0;
  HttpServer s(options);
  s.bind();
  EXPECT_FALSE(Client(s.port()).connected());
  s.start(handler);
  Client c(s.port());
  c.send(kEcho);
  EXPECT_THAT(c.read_until("POST hi"), HasSubstr("200 OK"));
}

TEST_F(HttpServerTest, PortTakenNamesThePort) {
  start();
  HttpOptions options;
  options.host = "127.0.0.1";
  options.port = server->port();
  HttpServer second(options);
  try {
    second.bind();
    FAIL() << "two servers on one port";
  } catch (const StartupError& e) {
    EXPECT_EQ(e.exit_code(), 1);
    EXPECT_THAT(e.what(), HasSubstr(std::to_string(server->port())));
  }
}

TEST_F(HttpServerTest, AllInterfacesAnswerOnBothFamilies) {
  HttpOptions options;
  options.port = 0;
  HttpServer both(options);
  both.start(handler);
  EXPECT_EQ(both.url(), "http://0.0.0.0:" + std::to_string(both.port()));
  Client v4(both.port());
  v4.send(kEcho);
  EXPECT_THAT(v4.read_until("POST hi"), HasSubstr("200 OK"));
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_addr = in6addr_loopback;
  address.sin6_port = htons(static_cast<std::uint16_t>(both.port()));
  const int fd = socket(AF_INET6, SOCK_STREAM, 0);
  if (fd < 0) GTEST_SKIP() << "skipped: no IPv6 on this machine";
  if (connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
    send(fd, kEcho.data(), kEcho.size(), MSG_NOSIGNAL);
    char buffer[1000] = {};
    EXPECT_GT(recv(fd, buffer, sizeof buffer, 0), 0);
    EXPECT_THAT(std::string(buffer), StartsWith("HTTP/1.1 200"));
  }
  close(fd);
}

TEST_F(HttpServerTest, UnixSocket) {
  HttpOptions options;
  options.uds = ::testing::TempDir() + "hearth_test.sock";
  HttpServer s(options);
  s.start(handler);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  options.uds.copy(address.sun_path, sizeof address.sun_path - 1);
  const int fd = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  send(fd, kEcho.data(), kEcho.size(), MSG_NOSIGNAL);
  char buffer[1000] = {};
  EXPECT_GT(recv(fd, buffer, sizeof buffer, 0), 0);
  EXPECT_THAT(std::string(buffer), StartsWith("HTTP/1.1 200"));
  close(fd);
  HttpServer second(options);
  EXPECT_THROW(second.bind(), StartupError);
}

TEST_F(HttpServerTest, StopsInOrder) {
  start();
  Client idle(server->port()), busy(server->port());
  busy.send("GET /hang HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(eventually([&] { return handler.hanging == 1; }));
  server->stop_accepting();
  EXPECT_EQ(idle.read_all(), "");
  EXPECT_FALSE(server->wait_idle(0.05));
  EXPECT_FALSE(Client(server->port()).connected());
  handler.held->respond({200, "text/plain", "done", {}});
  EXPECT_THAT(busy.read_all(), HasSubstr("done"));
  EXPECT_TRUE(server->wait_idle(2));
}

}  // namespace
}  // namespace hearth
