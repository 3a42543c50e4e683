// exchange.h — one request and the answer to it: what a handler holds while it works.
//
// Owns      the request. The connection lives as long as the exchange or the socket, whichever is longer.
// Threads   request(): any, unchanged after dispatch. respond, start_stream, write, finish, post, on_cancel: any; what they
//           do happens on the connection's strand, in the order of the calls made from one thread.
// Rule      exactly one respond(), or start_stream() then any number of write() then finish(). What comes after the answer
//           has ended, or after the client has gone, is dropped. A handler that throws, or lets go of the exchange without
//           an answer, answers 500.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "server/http/message.h"

namespace hearth {

class Exchange {
 public:
  virtual ~Exchange() = default;

  virtual const HttpRequest& request() const = 0;

  virtual void respond(HttpResponse response) = 0;

  // Sends the head now; the body follows in pieces. idle_text is written after each `idle_seconds` without a piece.
  virtual void start_stream(HttpResponse head, std::string idle_text = {}, double idle_seconds = 15) = 0;
  virtual void write(std::string piece) = 0;  // one flush
  // close: the connection ends after this answer whatever the client asked for.
  virtual void finish(bool close = false) = 0;

  // The handler has read the body and wants its memory back before the answer is complete.
  virtual void drop_body() = 0;

  // Runs f on the connection's strand.
  virtual void post(std::function<void()> f) = 0;

  // f runs once, on the strand, when the answer is no longer wanted: the client left, or reads too slowly. At once if so already.
  virtual void on_cancel(std::function<void(std::string_view reason)> f) = 0;
};

using ExchangePtr = std::shared_ptr<Exchange>;

// What is known of an exchange when it has ended, for the access log and the counters.
struct ExchangeSummary {
  const HttpRequest* request = nullptr;
  int status = 0;  // 0: the client left before an answer
  std::size_t request_bytes = 0, response_bytes = 0;
  double seconds = 0;
};

// The application behind the sockets.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;
  virtual void prepare(HttpRequest& request) = 0;  // path prefix, request id, route
  virtual void handle(const ExchangePtr& exchange) = 0;
  virtual void decorate(const HttpRequest& request, HttpResponse& response) = 0;  // CORS, x-request-id
  // A request that could not be read: the answer in the right dialect.
  virtual HttpResponse protocol_error(const HttpRequest& request, int status, const std::string& message) = 0;
  virtual void finished(const ExchangeSummary& summary) = 0;
};

}  // namespace hearth
