// session_impl.h — the connection and the request in hand, as session.cpp (reading, time, the end) and session_answer.cpp
// (answering, writing) share them.
//
// Rule      whatever enters from outside (a completion, a timer, a call of a handler) goes through run() or guarded(): an
//           exception ends this connection, with 500 when nothing has been said yet, and no other.
#pragma once

#include <boost/asio/dispatch.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <exception>

#include "server/http/response_writer.h"
#include "server/http/session.h"

namespace hearth {

using boost::system::error_code;
using SteadyTime = std::chrono::steady_clock::time_point;

inline std::chrono::steady_clock::duration seconds_of(double seconds) {
  return std::chrono::duration_cast<std::chrono::steady_clock::duration>(std::chrono::duration<double>(seconds));
}

class SessionImpl;

class SessionExchange final : public Exchange, public std::enable_shared_from_this<SessionExchange> {
 public:
  SessionExchange(std::shared_ptr<SessionImpl> session, HttpRequest request)
      : session_(std::move(session)), request_(std::move(request)), started_(std::chrono::steady_clock::now()) {}

  // What the handler gets: when the last copy goes and no answer was given, the client is told so.
  ExchangePtr lease();

  const HttpRequest& request() const override { return request_; }
  void respond(HttpResponse response) override;
  void start_stream(HttpResponse head, std::string idle_text, double idle_seconds) override;
  void write(std::string piece) override;
  void finish(bool close) override;
  void drop_body() override;
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
              std::shared_ptr<BodyBudget> bodies, std::function<void(Session*)> on_closed)
      : stream_(std::move(stream)),
        limits_(limits),
        handler_(handler),
        bodies_(std::move(bodies)),
        on_closed_(std::move(on_closed)),
        parser_(limits.parser),
        timer_(stream_->executor()),
        idle_timer_(stream_->executor()) {}

  void start() override;
  void stop_soon() override;
  void stop_now() override;

  // On the strand, now if this is it. The exchange's calls come here too.
  template <class F>
  void run(F f) {
    boost::asio::dispatch(stream_->executor(),
                          [self = shared_from_this(), f = std::move(f)]() mutable { self->guarded(f); });
  }

 private:
  friend class SessionExchange;

  template <class F>
  void guarded(F&& f) {
    try {
      f();
    } catch (const std::exception& e) {
      broken(e.what());
    }
  }
  void broken(const char* what);
  void close(const std::string& reason);
  void cut_off(const std::string& reason);

  bool busy_reading() const { return !in_.empty() || parser_.header_done(); }
  void read();
  void on_read_end(error_code ec);
  void on_bytes(std::size_t n);
  void consume();
  bool hold(std::size_t body_bytes);  // false: the budget is spent
  void begin(HttpRequest request);
  void dispatch(HttpRequest request);
  void refuse(HttpRequest request, int status, const std::string& message);
  void probe();
  void watch_for_reset();
  bool nothing_follows() const { return eof_ && in_.empty(); }

  void answer(HttpResponse response);
  void start_stream(HttpResponse head, std::string idle_text, double idle_seconds);
  void write_piece(std::string_view piece);
  void finish_stream(bool close_after);
  bool keeps_alive() const;
  void end_exchange();
  void after_writes();
  void finish_connection();
  void send(std::string bytes);
  void write();
  void on_written(std::size_t n);

  void set_deadline(double seconds);
  void clear_deadline() { deadline_ = SteadyTime::max(); }
  void arm_timer();
  void on_deadline();
  void arm_idle();
  void cancel(const std::string& reason);

  std::unique_ptr<ByteStream> stream_;
  SessionLimits limits_;
  HttpHandler& handler_;
  std::shared_ptr<BodyBudget> bodies_;
  std::function<void(Session*)> on_closed_;
  std::int64_t held_ = 0;  // of the budget
  RequestParser parser_;
  boost::asio::steady_timer timer_, idle_timer_;
  SteadyTime deadline_ = SteadyTime::max();
  bool timer_armed_ = false;
  std::shared_ptr<SessionExchange> exchange_;
  std::string in_;
  std::deque<std::string> out_;
  std::size_t out_offset_ = 0, out_bytes_ = 0, request_bytes_ = 0, lingered_ = 0;
  bool reading_ = false, writing_ = false, eof_ = false, closed_ = false, stopping_ = false;
  bool close_after_write_ = false, lingering_ = false, watching_ = false;
  char buffer_[16 * 1024];
};

}  // namespace hearth
