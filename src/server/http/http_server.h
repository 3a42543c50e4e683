// http_server.h — the listener: binds, accepts, runs the threads, and ends in order.
//
// Owns      the sockets, the I/O threads, every session.
// Life      bind() takes the address while the caller still prepares what will answer (connections are refused until then);
//           start() listens. The destructor gives the address back.
// Threads   bind, start, stop_accepting, wait_idle, stop: one owner. Sessions run on `threads` I/O threads.
// Errors    StartupError when the address cannot be bound or TLS files are wrong; it names the port.
#pragma once

#include <memory>
#include <string>

#include "server/http/session.h"
#include "server/http/tls_context.h"

namespace hearth {

struct HttpOptions {
  std::string host;  // empty: all interfaces, IPv4 and IPv6
  int port = 8000;   // 0: the system chooses
  std::string uds;   // a Unix socket instead
  TlsFiles tls;      // with a certificate: HTTPS
  SessionLimits session;
  int threads = 2;
};

class HttpServer {
 public:
  explicit HttpServer(HttpOptions options);
  ~HttpServer();

  void bind();
  void start(HttpHandler& handler);  // binds if that was not done; returns when the port answers
  int port() const;
  std::string url() const;  // "http://0.0.0.0:8000", "unix:/run/x.sock"
  int num_connections() const;

  void stop_accepting();           // idle connections close; the others after their answer
  bool wait_idle(double seconds);  // true: no connection is left
  void stop();                     // closes what is left and joins the threads

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace hearth
