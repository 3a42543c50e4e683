// server.cpp — run_server: the app behind the listener, the ready lines, the stats line, and the end.
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>

#include "base/log.h"
#include "server/app.h"
#include "server/http/http_server.h"
#include "server/service.h"

namespace hearth {
namespace {

constexpr std::chrono::seconds kStatsEvery{10};
// After the engines have ended what was left, the last bytes get this long to leave.
constexpr double kFlushSeconds = 3;

HttpOptions http_options(const ServerConfig& c) {
  HttpOptions o;
  o.host = c.host;
  o.port = c.port;
  o.uds = c.uds;
  o.tls = {c.ssl_certfile, c.ssl_keyfile, c.ssl_ca_certs, c.ssl_ciphers, c.ssl_cert_reqs, c.ssl_refresh};
  o.session.parser = {c.max_header_bytes, c.max_header_count, c.max_request_bytes};
  o.session.keep_alive_seconds = c.keep_alive_seconds;
  o.threads = c.http_threads;
  return o;
}

// One line every ten seconds in which something happened.
class StatsLine {
 public:
  explicit StatsLine(const Service& service) : service_(service), last_(service.models.size()) {}

  void print() {
    for (std::size_t i = 0; i < service_.models.size(); ++i) {
      const EngineStats now = service_.models[i]->engine->stats();
      const EngineStats& before = last_[i];
      const double seconds = std::chrono::duration<double>(kStatsEvery).count();
      const auto rate = [&](std::uint64_t a, std::uint64_t b) { return static_cast<double>(a - b) / seconds; };
      if (now.num_steps != before.num_steps || now.num_running > 0 || now.num_waiting > 0) {
        const double used = now.num_blocks > 0 ? 100.0 * (now.num_blocks - now.num_free_blocks) / now.num_blocks : 0.0;
        log_info(
            "Engine {:03}: Avg prompt throughput: {:.1f} tokens/s, Avg generation throughput: {:.1f} tokens/s, "
            "Running: {} reqs, "
            "Waiting: {} reqs, KV cache usage: {:.1f}%",
            i, rate(now.num_prompt_tokens, before.num_prompt_tokens),
            rate(now.num_generation_tokens, before.num_generation_tokens), now.num_running, now.num_waiting, used);
      }
      last_[i] = now;
    }
  }

 private:
  const Service& service_;
  std::vector<EngineStats> last_;
};

}  // namespace

std::unique_ptr<HttpServer> bind_server(const ServerConfig& config) {
  auto server = std::make_unique<HttpServer>(http_options(config));
  server->bind();
  return server;
}

int run_server(std::shared_ptr<Service> service, std::unique_ptr<HttpServer> listener) {
  std::signal(SIGPIPE, SIG_IGN);
  boost::asio::io_context io;
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);  // from here on they end the server in order

  App app(service);
  // Ends before the app, whose requests its connections hold.
  const std::unique_ptr<HttpServer> owned = std::move(listener);
  HttpServer& server = *owned;
  server.start(app);
  log_info("Application startup complete.");
  log_info("Uvicorn running on {} (Press CTRL+C to quit)", server.url());
  log_info("ready on {}{}", server.url(),
           service->models.empty() ? "" : " model=" + service->models.front()->names.front());

  signals.async_wait([&](boost::system::error_code ec, int number) {
    if (ec) return;
    signals.clear();  // a second one ends the program at once
    log_info("{}: no new connections, waiting up to {} s for the requests in hand",
             number == SIGINT ? "SIGINT" : "SIGTERM", service->config.shutdown_timeout_seconds);
    io.stop();
  });
  StatsLine stats(*service);
  boost::asio::steady_timer timer(io);
  std::function<void()> tick = [&] {
    timer.expires_after(kStatsEvery);
    timer.async_wait([&](boost::system::error_code ec) {
      if (ec) return;
      stats.print();
      tick();
    });
  };
  if (service->config.log_stats) tick();
  io.run();

  app.state().stopping = true;
  server.stop_accepting();
  if (service->config.shutdown_timeout_seconds > 0) server.wait_idle(service->config.shutdown_timeout_seconds);
  for (const auto& model : service->models) model->engine->stop();  // what is left ends with finish reason abort
  server.wait_idle(kFlushSeconds);
  server.stop();
  app.finish_workers();  // what they hold belongs to the server's connections
  log_info("stopped");
  return 0;
}

}  // namespace hearth
