// Answering and writing: the bytes of an answer, in order, and what follows when the last of them has left.
#include <boost/asio/post.hpp>

#include "base/log.h"
#include "server/http/session_impl.h"

namespace hearth {

// --- answering ------------------------------------------------------------------------------------------------------------

void SessionImpl::answer(HttpResponse response) {
  SessionExchange& x = *exchange_;
  if (x.state_ == SessionExchange::State::streaming) return broken("an answer after its stream had begun");
  if (x.state_ != SessionExchange::State::waiting) return;
  handler_.decorate(x.request_, response);
  x.status_ = response.status;
  std::string bytes = response_head(response, BodyFraming::content_length, keeps_alive());
  if (!x.request_.is_head()) bytes += response.body;
  x.state_ = SessionExchange::State::ended;
  send(std::move(bytes));
  end_exchange();
}

void SessionImpl::start_stream(HttpResponse head, std::string idle_text, double idle_seconds) {
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

void SessionImpl::write_piece(std::string_view piece) {
  SessionExchange& x = *exchange_;
  if (x.state_ != SessionExchange::State::streaming || closed_ || x.request_.is_head()) return;
  if (out_bytes_ > limits_.stream_buffer_bytes) return cut_off(fmt::format("{} bytes are waiting for it", out_bytes_));
  send(x.framing_ == BodyFraming::chunked ? chunk(piece) : std::string(piece));
  arm_idle();
}

void SessionImpl::finish_stream(bool close_after) {
  SessionExchange& x = *exchange_;
  if (x.state_ != SessionExchange::State::streaming) return;
  x.state_ = SessionExchange::State::ended;
  idle_timer_.cancel();
  if (x.framing_ == BodyFraming::chunked && !x.request_.is_head()) send(std::string(kLastChunk));
  if (close_after) close_after_write_ = true;
  end_exchange();
}

bool SessionImpl::keeps_alive() const {
  return exchange_->request_.keep_alive && !close_after_write_ && !stopping_ && !nothing_follows();
}

// The answer is complete (its bytes may still be on their way): count it, and look at the next request.
void SessionImpl::end_exchange() {
  const std::shared_ptr<SessionExchange> x = std::move(exchange_);
  exchange_ = nullptr;
  x->state_ = SessionExchange::State::ended;
  x->cancel_ = nullptr;
  if (!x->request_.keep_alive || stopping_ || nothing_follows()) close_after_write_ = true;
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - x->started_;
  handler_.finished({&x->request_, x->status_, request_bytes_, x->response_bytes_, took.count()});
  request_bytes_ = 0;
  hold(0);
  parser_.reset();
  if (closed_) return;
  if (out_.empty()) after_writes();
}

void SessionImpl::after_writes() {
  if (exchange_ || closed_) return;
  if (close_after_write_) return finish_connection();
  set_deadline(in_.empty() ? limits_.keep_alive_seconds : limits_.header_seconds);
  // Not from inside the handler that has just answered: its stack may be deep with pipelined requests.
  boost::asio::post(stream_->executor(), [self = shared_from_this()] {
    self->guarded([&] {
      if (self->exchange_ || self->closed_) return;
      self->consume();
      self->read();
      if (self->eof_ && !self->exchange_ && self->out_.empty()) self->close("the client closed the connection");
    });
  });
}

void SessionImpl::finish_connection() {
  stream_->shutdown_send();
  if (eof_) return close("");
  // Closing with unread bytes in the socket would reset it, and the client might lose the answer: say goodbye, read on a little.
  lingering_ = true;
  in_.clear();
  set_deadline(limits_.linger_seconds);
  read();
}

// --- writing --------------------------------------------------------------------------------------------------------------

void SessionImpl::send(std::string bytes) {
  if (closed_ || bytes.empty()) return;
  out_bytes_ += bytes.size();
  if (exchange_) exchange_->response_bytes_ += bytes.size();
  out_.push_back(std::move(bytes));
  if (!writing_) write();
}

void SessionImpl::write() {
  writing_ = true;
  set_deadline(limits_.stall_seconds);
  stream_->write_some(
      out_.front().data() + out_offset_, out_.front().size() - out_offset_,
      [self = shared_from_this()](error_code ec, std::size_t n) {
        self->writing_ = false;
        if (self->closed_) return;
        self->guarded([&] { ec ? self->close("connection lost: " + ec.message()) : self->on_written(n); });
      });
}

void SessionImpl::on_written(std::size_t n) {
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

void SessionImpl::arm_idle() {
  if (exchange_->idle_text_.empty()) return;
  idle_timer_.expires_after(seconds_of(exchange_->idle_seconds_));
  idle_timer_.async_wait([self = shared_from_this()](error_code ec) {
    if (ec || self->closed_ || !self->exchange_) return;
    self->guarded([&] { self->out_.empty() ? self->write_piece(self->exchange_->idle_text_) : self->arm_idle(); });
  });
}

// --- the exchange: every call goes to the strand, and counts only while this is the request in hand ------------------------

// Posted, never at once: an answer given on another thread is in the strand's queue already, and goes first.
ExchangePtr SessionExchange::lease() {
  return {this, [self = shared_from_this()](Exchange*) {
            self->post([self] {
              if (self->session_->exchange_ == self) self->session_->broken("a request was left without an answer");
            });
          }};
}

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

void SessionExchange::drop_body() {
  std::string().swap(request_.body);
  session_->run([self = shared_from_this()] {
    if (self->session_->exchange_ == self) self->session_->hold(0);
  });
}

void SessionExchange::post(std::function<void()> f) {
  boost::asio::post(session_->stream_->executor(), [self = shared_from_this(), f = std::move(f)] {
    try {
      f();
    } catch (const std::exception& e) {
      if (self->session_->exchange_ == self)
        self->session_->broken(e.what());
      else
        log_error("{}: {}", self->request_.peer, e.what());
    }
  });
}

void SessionExchange::on_cancel(std::function<void(std::string_view)> f) {
  session_->run([self = shared_from_this(), f = std::move(f)]() mutable {
    if (self->cancelled_) return f(self->cancel_reason_);
    if (self->state_ != State::ended) self->cancel_ = std::move(f);
  });
}

}  // namespace hearth
