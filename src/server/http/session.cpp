#include "server/http/session.h"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <exception>

#include "base/log.h"
#include "server/http/response_writer.h"

namespace hearth {
namespace {

using boost::system::error_code;
using SteadyTime = std::chrono::steady_clock::time_point;
constexpr std::size_t kReadAhead = 64 * 1024;
constexpr std::size_t kMostLingered = std::size_t{64} << 20;

std::chrono::steady_clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

class SessionImpl;

class SessionExchange final : public Exchange, public std::enable_shared_from_this<SessionExchange> {
 public:
  SessionExchange(std::shared_ptr<SessionImpl> session, HttpRequest request)
      : session_(std::move(session)), request_(std::move(request)), started_(std::chrono::steady_clock::now()) {}

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override;
  void start_stream(HttpResponse head, std::string idle_text, double idle_seconds) override;
  void write(std::string piece) override;
  void finish(bool close) override;
  void post(std::function<void()> f) override;
  void on_cancel(std::function<void(std::string_view)> f) override;

  std::shared_ptr<SessionImpl> session_;
  HttpRequest request_;
  SteadyTime started_;
  // On the strand:
  enum class State { waiting, streaming, ended } state_ = State::waiting;
  bool cancelled_ = false;
  std::string cancel_reason_;
  std::function<void(std::string_view)> cancel_;
  std::string idle_text_;
  double idle_seconds_ = 0;
  BodyFraming framing_ = BodyFraming::content_length;
  int status_ = 0;
  std::size_t response_bytes_ = 0;
};

class SessionImpl final : public Session, public std::enable_shared_from_this<SessionImpl> {
 public:
  SessionImpl(std::unique_ptr<ByteStream> stream, const SessionLimits& limits, HttpHandler& handler,
              std::function<void(Session*)> on_closed)
      : stream_(std::move(stream)),
        limits_(limits),
        handler_(handler),
        on_closed_(std::move(on_closed)),
        parser_(limits.parser),
        timer_(stream_->executor()),
        idle_timer_(stream_->executor()) {}

  // --- life of the connection -------------------------------------------------------------------------------------------

  void start() override {
    run([self = shared_from_this()] {
      self->set_deadline(self->limits_.header_seconds);
      self->stream_->handshake([self](error_code ec) {
        if (ec) return self->close("handshake failed: " + ec.message());
        self->set_deadline(self->limits_.keep_alive_seconds);
        self->read();
      });
    });
  }

  void stop_soon() override {
    run([self = shared_from_this()] {
      self->stopping_ = true;
      if (!self->exchange_ && self->out_.empty() && !self->busy_reading()) self->close("server is stopping");
    });
  }

  void stop_now() override {
    run([self = shared_from_this()] { self->close("server is stopping"); });
  }

  template <class F>
  void run(F f) {
    boost::asio::dispatch(stream_->executor(), std::move(f));
  }

  void close(const std::string& reason) {
    if (closed_) return;
    closed_ = true;
    timer_.cancel();
    idle_timer_.cancel();
    stream_->close();
    out_.clear();
    cancel(reason);
    if (exchange_) end_exchange();
    if (on_closed_) on_closed_(this);
  }

  // --- reading ----------------------------------------------------------------------------------------------------------

  bool busy_reading() const { return !in_.empty() || parser_.header_done(); }

  void read() {
    if (reading_ || closed_ || eof_ || (exchange_ && in_.size() >= kReadAhead)) return;
    reading_ = true;
    stream_->read_some(buffer_, sizeof buffer_, [self = shared_from_this()](error_code ec, std::size_t n) {
      self->reading_ = false;
      if (self->closed_) return;
      if (ec) return self->on_read_end(ec);
      self->on_bytes(n);
    });
  }

  void on_read_end(error_code ec) {
    eof_ = true;
    if (lingering_ || (!exchange_ && out_.empty())) return close("the client closed the connection");
    // The read side is closed while an answer is owed: the client has left. What is already being written may still go out.
    cancel("the client closed the connection");
    if (ec != boost::asio::error::eof && exchange_) return close("connection lost: " + ec.message());
    close_after_write_ = true;
  }

  void on_bytes(std::size_t n) {
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
  void consume() {
    while (!exchange_ && !closed_ && !lingering_ && !in_.empty()) {
      const std::size_t used = parser_.feed(in_);
      in_.erase(0, used);
      request_bytes_ += used;
      if (parser_.failed()) return refuse();
      if (parser_.done()) {
        dispatch(parser_.take());
      } else {
        if (parser_.header_done()) set_deadline(limits_.body_seconds);
        if (parser_.wants_continue()) {
          parser_.told_continue();
          send("HTTP/1.1 100 Continue\r\n\r\n");
        }
        if (used == 0) return;
      }
    }
  }

  void refuse() {
    const int status = parser_.status();
    const std::string message = parser_.message();
    HttpRequest request = parser_.take();
    request.keep_alive = false;
    request.peer = stream_->peer();
    handler_.prepare(request);
    exchange_ = std::make_shared<SessionExchange>(shared_from_this(), std::move(request));
    close_after_write_ = true;
    answer(handler_.protocol_error(exchange_->request_, status, message));
  }

  void dispatch(HttpRequest request) {
    clear_deadline();
    if (parser_.failed()) return refuse();  // a target that is no path shows only when the request is taken
    request.peer = stream_->peer();
    if (request.version < 11 || stopping_) request.keep_alive = false;
    handler_.prepare(request);
    exchange_ = std::make_shared<SessionExchange>(shared_from_this(), std::move(request));
    if (eof_) cancel("the client closed the connection");
    const std::shared_ptr<SessionExchange> exchange = exchange_;
    try {
      handler_.handle(exchange);
    } catch (const std::exception& e) {
      log_error("{} {}: {}", exchange->request_.method, exchange->request_.path, e.what());
      exchange->respond(handler_.protocol_error(exchange->request_, 500, "internal error"));
    }
  }

  // --- answering --------------------------------------------------------------------------------------------------------

  void answer(HttpResponse response) {
    SessionExchange& x = *exchange_;
    if (x.state_ != SessionExchange::State::waiting) return;
    handler_.decorate(x.request_, response);
    x.status_ = response.status;
    std::string bytes = response_head(response, BodyFraming::content_length, keeps_alive());
    if (!x.request_.is_head()) bytes += response.body;
    x.state_ = SessionExchange::State::ended;
    send(std::move(bytes));
    end_exchange();
  }

  void start_stream(HttpResponse head, std::string idle_text, double idle_seconds) {
    SessionExchange& x = *exchange_;
    if (x.state_ != SessionExchange::State::waiting) return;
    handler_.decorate(x.request_, head);
    x.status_ = head.status;
    x.state_ = SessionExchange::State::streaming;
    x.framing_ = x.request_.version >= 11 ? BodyFraming::chunked : BodyFraming::until_close;
    x.idle_text_ = std::move(idle_text);
    x.idle_seconds_ = idle_seconds;
    send(response_head(head, x.framing_, keeps_alive()));
    arm_idle();
  }

  void write_piece(std::string_view piece) {
    SessionExchange& x = *exchange_;
    if (x.state_ != SessionExchange::State::streaming || closed_ || x.request_.is_head()) return;
    if (out_bytes_ > limits_.stream_buffer_bytes)
      return close("the client reads too slowly: more than " + std::to_string(limits_.stream_buffer_bytes) +
                   " bytes are waiting for it");
    send(x.framing_ == BodyFraming::chunked ? chunk(piece) : std::string(piece));
    arm_idle();
  }

  void finish_stream(bool close_after) {
    SessionExchange& x = *exchange_;
    if (x.state_ != SessionExchange::State::streaming) return;
    x.state_ = SessionExchange::State::ended;
    idle_timer_.cancel();
    if (x.framing_ == BodyFraming::chunked && !x.request_.is_head()) send(std::string(kLastChunk));
    if (close_after) close_after_write_ = true;
    end_exchange();
  }

  bool keeps_alive() const { return exchange_->request_.keep_alive && !close_after_write_ && !stopping_; }

  // The answer is complete (its bytes may still be on their way): count it, and look at the next request.
  void end_exchange() {
    const std::shared_ptr<SessionExchange> x = std::move(exchange_);
    exchange_ = nullptr;
    x->state_ = SessionExchange::State::ended;
    x->cancel_ = nullptr;
    if (!x->request_.keep_alive || stopping_) close_after_write_ = true;
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - x->started_;
    handler_.finished({&x->request_, x->status_, request_bytes_, x->response_bytes_, took.count()});
    request_bytes_ = 0;
    parser_.reset();
    if (closed_) return;
    if (out_.empty()) after_writes();
  }

  void after_writes() {
    if (exchange_ || closed_) return;
    if (close_after_write_) return finish_connection();
    set_deadline(in_.empty() ? limits_.keep_alive_seconds : limits_.header_seconds);
    // Not from inside the handler that has just answered: its stack may be deep with pipelined requests.
    boost::asio::post(stream_->executor(), [self = shared_from_this()] {
      if (self->exchange_ || self->closed_) return;
      self->consume();
      self->read();
    });
  }

  void finish_connection() {
    if (eof_) return close("");
    // Closing with unread bytes in the socket would reset it, and the client might lose the answer: say goodbye, read on a little.
    stream_->shutdown_send();
    lingering_ = true;
    in_.clear();
    set_deadline(limits_.linger_seconds);
    read();
  }

  // --- writing ----------------------------------------------------------------------------------------------------------

  void send(std::string bytes) {
    if (closed_ || bytes.empty()) return;
    out_bytes_ += bytes.size();
    if (exchange_) exchange_->response_bytes_ += bytes.size();
    out_.push_back(std::move(bytes));
    if (!writing_) write();
  }

  void write() {
    writing_ = true;
    set_deadline(limits_.stall_seconds);
    stream_->write_some(out_.front().data() + out_offset_, out_.front().size() - out_offset_,
                        [self = shared_from_this()](error_code ec, std::size_t n) {
                          self->writing_ = false;
                          if (self->closed_) return;
                          if (ec) return self->close("connection lost: " + ec.message());
                          self->on_written(n);
                        });
  }

  void on_written(std::size_t n) {
    out_offset_ += n;
    out_bytes_ -= n;
    if (out_offset_ == out_.front().size()) {
      out_.pop_front();
      out_offset_ = 0;
    }
    if (!out_.empty()) return write();
    clear_deadline();
    if (!exchange_ && parser_.header_done())
      set_deadline(limits_.body_seconds);  // "100 Continue" was written
    else
      after_writes();
  }

  // --- time -------------------------------------------------------------------------------------------------------------

  // One deadline at a time: whatever the connection is waiting for now.
  void set_deadline(double seconds) {
    if (closed_) return;
    deadline_ = std::chrono::steady_clock::now() + seconds_of(seconds);
    if (!timer_armed_ || timer_.expiry() > deadline_) arm_timer();
  }
  void clear_deadline() { deadline_ = SteadyTime::max(); }

  void arm_timer() {
    timer_armed_ = true;
    timer_.expires_at(deadline_);
    timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (ec || self->closed_) return;
      self->timer_armed_ = false;
      if (self->deadline_ == SteadyTime::max()) return;
      if (std::chrono::steady_clock::now() < self->deadline_) return self->arm_timer();
      self->on_deadline();
    });
  }

  void on_deadline() {
    clear_deadline();
    if (!out_.empty()) return close("the client reads too slowly: nothing taken for a while");
    if (lingering_ || !busy_reading()) return close("idle");
    // Half a request: say so, then go.
    HttpRequest request;
    request.keep_alive = false;
    request.peer = stream_->peer();
    handler_.prepare(request);
    exchange_ = std::make_shared<SessionExchange>(shared_from_this(), std::move(request));
    close_after_write_ = true;
    answer(handler_.protocol_error(exchange_->request_, 408, "the request did not arrive whole in time"));
  }

  void arm_idle() {
    if (exchange_->idle_text_.empty()) return;
    idle_timer_.expires_after(seconds_of(exchange_->idle_seconds_));
    idle_timer_.async_wait([self = shared_from_this()](error_code ec) {
      if (ec || self->closed_ || !self->exchange_) return;
      if (self->out_.empty())
        self->write_piece(self->exchange_->idle_text_);
      else
        self->arm_idle();
    });
  }

  void cancel(const std::string& reason) {
    if (!exchange_ || exchange_->cancelled_ || exchange_->state_ == SessionExchange::State::ended) return;
    exchange_->cancelled_ = true;
    exchange_->cancel_reason_ = reason;
    if (auto f = std::move(exchange_->cancel_)) f(reason);
  }

  std::unique_ptr<ByteStream> stream_;
  SessionLimits limits_;
  HttpHandler& handler_;
  std::function<void(Session*)> on_closed_;
  RequestParser parser_;
  boost::asio::steady_timer timer_, idle_timer_;
  SteadyTime deadline_ = SteadyTime::max();
  bool timer_armed_ = false;
  std::shared_ptr<SessionExchange> exchange_;
  std::string in_;
  std::deque<std::string> out_;
  std::size_t out_offset_ = 0, out_bytes_ = 0, request_bytes_ = 0, lingered_ = 0;
  bool reading_ = false, writing_ = false, eof_ = false, closed_ = false, stopping_ = false;
  bool close_after_write_ = false, lingering_ = false;
  char buffer_[16 * 1024];
};

// --- the exchange: every call goes to the strand, and counts only while this is the request in hand ------------------------

void SessionExchange::respond(HttpResponse response) {
  session_->run([self = shared_from_this(), r = std::move(response)]() mutable {
    if (self->session_->exchange_ == self) self->session_->answer(std::move(r));
  });
}

void SessionExchange::start_stream(HttpResponse head, std::string idle_text, double idle_seconds) {
  session_->run([self = shared_from_this(), h = std::move(head), t = std::move(idle_text), idle_seconds]() mutable {
    if (self->session_->exchange_ == self) self->session_->start_stream(std::move(h), std::move(t), idle_seconds);
  });
}

void SessionExchange::write(std::string piece) {
  session_->run([self = shared_from_this(), p = std::move(piece)] {
    if (self->session_->exchange_ == self) self->session_->write_piece(p);
  });
}

void SessionExchange::finish(bool close) {
  session_->run([self = shared_from_this(), close] {
    if (self->session_->exchange_ == self) self->session_->finish_stream(close);
  });
}

void SessionExchange::post(std::function<void()> f) {
  boost::asio::post(session_->stream_->executor(), [f = std::move(f)] {
    try {
      f();
    } catch (const std::exception& e) {
      log_error("a request's handler failed: {}", e.what());
    }
  });
}

void SessionExchange::on_cancel(std::function<void(std::string_view)> f) {
  session_->run([self = shared_from_this(), f = std::move(f)]() mutable {
    if (self->cancelled_) return f(self->cancel_reason_);
    if (self->state_ != State::ended) self->cancel_ = std::move(f);
  });
}

}  // namespace

std::shared_ptr<Session> make_session(std::unique_ptr<ByteStream> stream, const SessionLimits& limits,
                                      HttpHandler& handler, std::function<void(Session*)> on_closed) {
  return std::make_shared<SessionImpl>(std::move(stream), limits, handler, std::move(on_closed));
}

}  // namespace hearth
