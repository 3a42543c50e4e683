#include "server/http/http_server.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "base/log.h"
#include "base/status.h"

namespace hearth {
namespace asio = boost::asio;
using asio::ip::tcp;
using asio::local::stream_protocol;
using boost::system::error_code;

namespace {

// The kernel's share of what a slow reader makes us keep.
constexpr int kSendBufferBytes = 256 * 1024;

std::string with_port(const tcp::endpoint& endpoint) {
  const std::string address = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", address, endpoint.port())
                                    : fmt::format("{}:{}", address, endpoint.port());
}

std::string peer_name(const tcp::socket& socket) {
  error_code ec;
  tcp::endpoint peer = socket.remote_endpoint(ec);
  if (ec) return "?";
  if (peer.address().is_v6() && peer.address().to_v6().is_v4_mapped())
    peer.address(asio::ip::make_address_v4(asio::ip::v4_mapped, peer.address().to_v6()));
  return with_port(peer);
}

void tune(tcp::socket& socket) {
  error_code ignored;
  socket.set_option(tcp::no_delay(true), ignored);
  socket.set_option(asio::socket_base::send_buffer_size(kSendBufferBytes), ignored);
  // A peer that vanished without a word (half-open) is noticed after about a minute and a half.
  socket.set_option(asio::socket_base::keep_alive(true), ignored);
  const int idle = 30, interval = 15, count = 4;
  setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle);
  setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_KEEPINTVL, &interval, sizeof interval);
  setsockopt(socket.native_handle(), IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}
std::string peer_name(const stream_protocol::socket&) { return "unix"; }
void tune(stream_protocol::socket&) {}

constexpr int kBacklog = 4096;

}  // namespace

struct HttpServer::Impl : std::enable_shared_from_this<HttpServer::Impl> {
  explicit Impl(HttpOptions o) : options(std::move(o)), work(asio::make_work_guard(io)) {}

  HttpOptions options;
  HttpHandler* handler = nullptr;
  std::shared_ptr<BodyBudget> bodies = std::make_shared<BodyBudget>();
  asio::io_context io;
  asio::executor_work_guard<asio::io_context::executor_type> work;
  std::deque<tcp::acceptor> tcp_acceptors;
  std::deque<stream_protocol::acceptor> unix_acceptors;
  std::unique_ptr<TlsContext> tls;
  std::vector<std::thread> threads;
  mutable std::mutex mutex;
  std::condition_variable changed;
  std::unordered_map<Session*, std::weak_ptr<Session>> sessions;
  bool stopping = false, left = false;
  std::atomic<bool> accept_failing{false};  // said once, not ten times a second
  int bound_port = 0;
  std::string bound_url;

  // --- binding ------------------------------------------------------------------------------------------------------------

  [[noreturn]] void cannot_bind(const std::string& where, const error_code& ec) const {
    if (ec == asio::error::address_in_use)
      throw StartupError(
          fmt::format("port {} is already in use", options.port), where,
          fmt::format("stop what listens there (ss -ltnp 'sport = :{}' shows it) or choose another --port",
                      options.port));
    if (ec == asio::error::access_denied)
      throw StartupError(fmt::format("not allowed to listen on port {}: {}", options.port, ec.message()), where,
                         "ports below 1024 need privileges; choose another --port");
    throw StartupError(fmt::format("cannot listen on port {}: {}", options.port, ec.message()), where,
                       "check --host and --port");
  }

  error_code try_bind(const tcp::endpoint& endpoint, bool dual_stack) {
    error_code ec;
    tcp::acceptor acceptor(asio::make_strand(io));
    acceptor.open(endpoint.protocol(), ec);
    if (ec) return ec;
    acceptor.set_option(asio::socket_base::reuse_address(true), ec);
    if (endpoint.address().is_v6()) acceptor.set_option(asio::ip::v6_only(!dual_stack), ec);
    acceptor.bind(endpoint, ec);
    if (ec) return ec;
    if (bound_port == 0) bound_port = acceptor.local_endpoint().port();
    tcp_acceptors.push_back(std::move(acceptor));
    return {};
  }

  void bind_tcp() {
    const std::string scheme = options.tls.certfile.empty() ? "http" : "https";
    const auto port = static_cast<unsigned short>(options.port);
    std::string host = options.host;
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    if (host.empty()) {
      error_code ec = try_bind({tcp::v6(), port}, true);
      if (ec && ec != asio::error::address_in_use) ec = try_bind({tcp::v4(), port}, false);  // no IPv6 here
      if (ec) cannot_bind("--port " + std::to_string(options.port), ec);
      bound_url = fmt::format("{}://0.0.0.0:{}", scheme, bound_port);
      return;
    }
    const std::string where = fmt::format("--host {} --port {}", options.host, options.port);
    error_code ec;
    tcp::resolver resolver(io);
    const auto found = resolver.resolve(host, std::to_string(options.port), tcp::resolver::passive, ec);
    if (ec)
      throw StartupError("the host to listen on cannot be resolved: " + ec.message(), where,
                         "give an address of this machine, or leave --host out");
    error_code first;
    for (const auto& entry : found) {
      tcp::endpoint endpoint = entry.endpoint();
      if (bound_port != 0) endpoint.port(static_cast<unsigned short>(bound_port));  // the same port on every address
      const error_code failed = try_bind(endpoint, false);
      if (failed == asio::error::address_in_use) cannot_bind(where, failed);
      if (failed && !first) first = failed;
    }
    if (tcp_acceptors.empty()) cannot_bind(where, first);
    if (host.find(':') != std::string::npos) host = "[" + host + "]";  // an IPv6 literal
    bound_url = fmt::format("{}://{}:{}", scheme, host, bound_port);
  }

  void bind_unix() {
    const std::string where = "--uds " + options.uds;
    struct stat info {};
    if (lstat(options.uds.c_str(), &info) == 0) {
      if (!S_ISSOCK(info.st_mode)) throw StartupError("the path exists and is no socket", where, "choose another path");
      stream_protocol::socket probe(io);
      error_code ec;
      probe.connect(options.uds, ec);
      if (!ec)
        throw StartupError("another server is listening on this socket", where, "stop it or choose another path");
      unlink(options.uds.c_str());  // left over by a server that is gone
    }
    error_code ec;
    stream_protocol::acceptor acceptor(asio::make_strand(io));
    acceptor.open(stream_protocol(), ec);
    if (!ec) acceptor.bind(options.uds, ec);
    if (ec)
      throw StartupError("cannot listen on the Unix socket: " + ec.message(), where,
                         "check that the folder exists and is writable");
    unix_acceptors.push_back(std::move(acceptor));
    bound_url = "unix:" + options.uds;
  }

  // Two programs may hold one TCP address until one of them listens.
  void listen() {
    error_code ec;
    for (auto& acceptor : tcp_acceptors)
      if (!ec) acceptor.listen(kBacklog, ec);
    for (auto& acceptor : unix_acceptors)
      if (!ec) acceptor.listen(kBacklog, ec);
    if (ec) cannot_bind(bound_url, ec);
  }

  void leave_address() {
    if (!unix_acceptors.empty() && !std::exchange(left, true)) unlink(options.uds.c_str());
  }

  // --- accepting ----------------------------------------------------------------------------------------------------------

  template <class Acceptor>
  void accept(Acceptor& acceptor) {
    auto socket = std::make_shared<typename Acceptor::protocol_type::socket>(asio::make_strand(io));
    acceptor.async_accept(*socket, [self = shared_from_this(), &acceptor, socket](error_code ec) {
      if (ec == asio::error::operation_aborted || !acceptor.is_open()) return;
      if (ec) {
        // Out of descriptors, most likely: what is open goes on, new ones wait.
        if (!self->accept_failing.exchange(true))
          log_warning("no new connections for now: {}; they are accepted again when others have closed", ec.message());
        auto timer = std::make_shared<asio::steady_timer>(acceptor.get_executor(), std::chrono::milliseconds(100));
        timer->async_wait([self, &acceptor, timer](error_code e) {
          if (!e && acceptor.is_open()) self->accept(acceptor);
        });
        return;
      }
      if (self->accept_failing.exchange(false)) log_info("new connections are accepted again");
      try {
        self->open_session(std::move(*socket));
      } catch (const std::exception& e) {
        log_error("a connection could not be opened: {}", e.what());
      }
      self->accept(acceptor);
    });
  }

  template <class Socket>
  void open_session(Socket socket) {
    tune(socket);
    std::string peer = peer_name(socket);
    GenericSocket generic(std::move(socket));
    std::unique_ptr<ByteStream> stream = tls ? make_tls_stream(std::move(generic), std::move(peer), tls->current())
                                             : make_plain_stream(std::move(generic), std::move(peer));
    auto session =
        make_session(std::move(stream), options.session, *handler, bodies, [weak = weak_from_this()](Session* gone) {
          if (const auto self = weak.lock()) {
            const std::lock_guard lock(self->mutex);
            self->sessions.erase(gone);
            self->changed.notify_all();
          }
        });
    {
      const std::lock_guard lock(mutex);
      sessions.emplace(session.get(), session);
      if (stopping) session->stop_soon();
    }
    session->start();
  }

  // Sessions catch what is theirs; nothing that comes out of a handler may end the process.
  void run() {
    for (;;) {
      try {
        io.run();
        return;
      } catch (const std::exception& e) {
        log_error("an I/O handler failed: {}", e.what());
      }
    }
  }

  std::vector<std::shared_ptr<Session>> all_sessions() const {
    const std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<Session>> list;
    for (const auto& [raw, weak] : sessions)
      if (auto session = weak.lock()) list.push_back(std::move(session));
    return list;
  }
};

HttpServer::HttpServer(HttpOptions options) : impl_(std::make_shared<Impl>(std::move(options))) {}
HttpServer::~HttpServer() {
  stop();
  impl_->leave_address();
}

void HttpServer::bind() {
  Impl& s = *impl_;
  const TlsFiles& files = s.options.tls;
  if (files.certfile.empty() != files.keyfile.empty())
    throw StartupError("TLS needs a certificate and a key", files.certfile.empty() ? "--ssl-certfile" : "--ssl-keyfile",
                       "give both --ssl-certfile and --ssl-keyfile");
  if (!files.certfile.empty()) s.tls = std::make_unique<TlsContext>(files);
  if (s.options.uds.empty())
    s.bind_tcp();
  else
    s.bind_unix();
}

void HttpServer::start(HttpHandler& handler) {
  Impl& s = *impl_;
  s.handler = &handler;
  if (s.bound_url.empty()) bind();
  s.listen();
  for (auto& acceptor : s.tcp_acceptors) s.accept(acceptor);
  for (auto& acceptor : s.unix_acceptors) s.accept(acceptor);
  for (int i = 0; i < std::max(1, s.options.threads); ++i) s.threads.emplace_back([impl = impl_] { impl->run(); });
}

int HttpServer::port() const { return impl_->bound_port; }
std::string HttpServer::url() const { return impl_->bound_url; }

int HttpServer::num_connections() const {
  const std::lock_guard lock(impl_->mutex);
  return static_cast<int>(impl_->sessions.size());
}

void HttpServer::stop_accepting() {
  {
    const std::lock_guard lock(impl_->mutex);
    impl_->stopping = true;
  }
  for (auto& acceptor : impl_->tcp_acceptors)
    asio::post(acceptor.get_executor(), [impl = impl_, &acceptor] {
      error_code e;
      acceptor.close(e);
    });
  for (auto& acceptor : impl_->unix_acceptors)
    asio::post(acceptor.get_executor(), [impl = impl_, &acceptor] {
      error_code e;
      acceptor.close(e);
    });
  impl_->leave_address();
  for (const auto& session : impl_->all_sessions()) session->stop_soon();
}

bool HttpServer::wait_idle(double seconds) {
  std::unique_lock lock(impl_->mutex);
  return impl_->changed.wait_for(lock, std::chrono::duration<double>(seconds),
                                 [this] { return impl_->sessions.empty(); });
}

void HttpServer::stop() {
  if (impl_->threads.empty()) return;
  stop_accepting();
  for (const auto& session : impl_->all_sessions()) session->stop_now();
  wait_idle(2);
  impl_->work.reset();
  impl_->io.stop();
  for (std::thread& thread : impl_->threads) thread.join();
  impl_->threads.clear();
}

}  // namespace hearth
