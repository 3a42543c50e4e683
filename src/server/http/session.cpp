#include "server/http/session.h"

#include <boost/asio/error.hpp>
#include <utility>

#include "base/log.h"
#include "server/http/session_impl.h"

namespace hearth {
namespace {

constexpr std::size_t kReadAhead = 64 * 1024;
constexpr std::size_t kMostLingered = std::size_t{64} << 20;

}  // namespace

// --- life of the connection ---------------------------------------------------------------------------------------------

void SessionImpl::start() {
  run([self = shared_from_this()] {
    self->set_deadline(self->limits_.header_seconds);
    self->stream_->handshake([self](error_code ec) {
      self->guarded([&] {
        if (ec) return self->close("handshake failed: " + ec.message());
        self->set_deadline(self->limits_.keep_alive_seconds);
        self->read();
      });
    });
  });
}

void SessionImpl::stop_soon() {
  run([self = shared_from_this()] {
    self->stopping_ = true;
    if (!self->exchange_ && self->out_.empty() && !self->busy_reading()) self->close("server is stopping");
  });
}

void SessionImpl::stop_now() {
  run([self = shared_from_this()] { self->close("server is stopping"); });
}

void SessionImpl::close(const std::string& reason) {
  if (closed_) return;
  closed_ = true;
  timer_.cancel();
  idle_timer_.cancel();
  stream_->close();
  out_.clear();
  try {
    cancel(reason);
    if (exchange_) end_exchange();
  } catch (const std::exception& e) {
    log_error("{}: {}", stream_->peer(), e.what());
  }
  hold(0);
  if (on_closed_) on_closed_(this);
}

// The client reads too slowly. It cannot be told: what it has not taken is in the way.
void SessionImpl::cut_off(const std::string& reason) {
  const std::string what = exchange_ ? request_line(exchange_->request_) : "an answer";
  log_warning("{} - {} is cut off: the client reads too slowly, {}", stream_->peer(), what, reason);
  close("the client reads too slowly: " + reason);
}

// An exception came out of the work for this connection. It says so to the client if nothing was said yet, and ends.
void SessionImpl::broken(const char* what) {
  if (closed_) return log_error("{}: {}", stream_->peer(), what);
  log_error("{}: {}; the connection is closed", stream_->peer(), what);
  try {
    if (!exchange_ && out_.empty() && busy_reading()) begin({});
    if (exchange_ && exchange_->state_ == SessionExchange::State::waiting) {
      cancel("internal error");
      close_after_write_ = true;
      return answer(handler_.protocol_error(exchange_->request_, 500, "internal error"));
    }
  } catch (const std::exception& e) {
    log_error("{}: {}", stream_->peer(), e.what());
  }
  close("internal error");
}

// --- reading --------------------------------------------------------------------------------------------------------------

void SessionImpl::read() {
  if (reading_ || closed_ || eof_) return;
  if ((exchange_ || close_after_write_) && in_.size() >= kReadAhead) return;
  reading_ = true;
  stream_->read_some(buffer_, sizeof buffer_, [self = shared_from_this()](error_code ec, std::size_t n) {
    self->reading_ = false;
    if (self->closed_) return;
    self->guarded([&] { ec ? self->on_read_end(ec) : self->on_bytes(n); });
  });
}

void SessionImpl::on_read_end(error_code ec) {
  eof_ = true;
  if (ec != boost::asio::error::eof) return close("connection lost: " + ec.message());
  if (lingering_ || (!exchange_ && out_.empty())) return close("the client closed the connection");
  if (!exchange_) {
    if (in_.empty()) close_after_write_ = true;
    return;
  }
  watch_for_reset();
  probe();
}

// The client sends nothing more while an answer is owed: it has left, or has closed its side only and waits. The two look
// the same until something is written: what reaches a socket that is gone is answered with a reset, and a client that
// waits skips an interim response or an SSE comment.
void SessionImpl::probe() {
  if (exchange_->state_ == SessionExchange::State::streaming) return write_piece(exchange_->idle_text_);
  if (exchange_->request_.version >= 11) return send("HTTP/1.1 100 Continue\r\n\r\n");
  // HTTP/1.0 knows no interim response.
  cancel("the client closed the connection");
  answer(
      handler_.protocol_error(exchange_->request_, 400,
                              "the connection was closed for sending before the answer: an HTTP/1.0 client that does "
                              "so cannot be told from one that has left"));
}

void SessionImpl::watch_for_reset() {
  if (std::exchange(watching_, true)) return;
  stream_->on_broken(
      [self = shared_from_this()] { self->guarded([&] { self->close("the client closed the connection"); }); });
}

void SessionImpl::on_bytes(std::size_t n) {
  if (lingering_) {
    lingered_ += n;
    return lingered_ > kMostLingered ? close("lingered enough") : read();
  }
  if (!exchange_ && !busy_reading()) set_deadline(limits_.header_seconds);  // the first byte of a request
  in_.append(buffer_, n);
  if (!exchange_) consume();
  read();
}

// Parses what is there; starts the request when it is whole.
void SessionImpl::consume() {
  while (!exchange_ && !closed_ && !close_after_write_ && !in_.empty()) {
    const std::size_t used = parser_.feed(in_);
    in_.erase(0, used);
    request_bytes_ += used;
    if (!parser_.failed() && !hold(parser_.body_bytes()))
      return refuse(parser_.take(), 503, "the server holds as many large request bodies as it may; try again later");
    if (!parser_.failed() && parser_.done()) {
      HttpRequest request = parser_.take();
      if (!parser_.failed()) {  // a target that is no path shows only now
        dispatch(std::move(request));
        continue;
      }
      return refuse(std::move(request), parser_.status(), parser_.message());
    }
    if (parser_.failed()) {
      const int status = parser_.status();
      const std::string message = parser_.message();
      return refuse(parser_.take(), status, message);
    }
    if (parser_.header_done()) set_deadline(limits_.body_seconds);
    if (parser_.wants_continue()) {
      parser_.told_continue();
      send("HTTP/1.1 100 Continue\r\n\r\n");
    }
    if (used == 0) return;
  }
}

bool SessionImpl::hold(std::size_t body_bytes) {
  const auto size = static_cast<std::int64_t>(body_bytes);
  const std::int64_t wanted = size > BodyBudget::kSmall ? size : 0;
  const std::int64_t more = wanted - std::exchange(held_, wanted);
  return (bodies_->held += more) <= limits_.most_body_bytes || more <= 0;
}

void SessionImpl::begin(HttpRequest request) {
  request.peer = stream_->peer();
  handler_.prepare(request);
  exchange_ = std::make_shared<SessionExchange>(shared_from_this(), std::move(request));
}

void SessionImpl::refuse(HttpRequest request, int status, const std::string& message) {
  request.keep_alive = false;
  begin(std::move(request));
  close_after_write_ = true;
  answer(handler_.protocol_error(exchange_->request_, status, message));
}

void SessionImpl::dispatch(HttpRequest request) {
  clear_deadline();
  if (request.version < 11 || stopping_) request.keep_alive = false;
  begin(std::move(request));
  const std::shared_ptr<SessionExchange> exchange = exchange_;
  const ExchangePtr lease = exchange->lease();  // outlives the handler's own stack, so that what it threw is told first
  guarded([&] { handler_.handle(lease); });
  if (eof_ && exchange_ == exchange && !closed_) {
    watch_for_reset();
    probe();
  }
}

// --- time -----------------------------------------------------------------------------------------------------------------

// One deadline at a time: whatever the connection is waiting for now.
void SessionImpl::set_deadline(double seconds) {
  if (closed_) return;
  deadline_ = std::chrono::steady_clock::now() + seconds_of(seconds);
  if (!timer_armed_ || timer_.expiry() > deadline_) arm_timer();
}

void SessionImpl::arm_timer() {
  timer_armed_ = true;
  timer_.expires_at(deadline_);
  timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (ec || self->closed_) return;
    self->timer_armed_ = false;
    if (self->deadline_ == SteadyTime::max()) return;
    self->guarded(
        [&] { std::chrono::steady_clock::now() < self->deadline_ ? self->arm_timer() : self->on_deadline(); });
  });
}

void SessionImpl::on_deadline() {
  clear_deadline();
  if (!out_.empty()) return cut_off(fmt::format("it has taken nothing for {} s", limits_.stall_seconds));
  if (lingering_ || !busy_reading()) return close("idle");
  // Half a request: say so, then go.
  refuse({}, 408, "the request did not arrive whole in time");
}

void SessionImpl::cancel(const std::string& reason) {
  if (!exchange_ || exchange_->cancelled_ || exchange_->state_ == SessionExchange::State::ended) return;
  exchange_->cancelled_ = true;
  exchange_->cancel_reason_ = reason;
  if (auto f = std::move(exchange_->cancel_)) f(reason);
}

std::shared_ptr<Session> make_session(std::unique_ptr<ByteStream> stream, const SessionLimits& limits,
                                      HttpHandler& handler, std::shared_ptr<BodyBudget> bodies,
                                      std::function<void(Session*)> on_closed) {
  return std::make_shared<SessionImpl>(std::move(stream), limits, handler, std::move(bodies), std::move(on_closed));
}

}  // namespace hearth
