// session.h — one connection: reads requests, hands each to the handler, writes the answer, then the next.
//
// Owns      the stream, the bytes read ahead, the bytes not yet written. A request is worked on alone; what a client sends
//           ahead (pipelining) waits, up to kReadAhead bytes.
// Threads   everything runs on the stream's strand; the Exchange it makes may be called from anywhere.
// Limits    a header block must come whole in header_seconds, a body must move every body_seconds, an answer must be taken
//           every stall_seconds and never have more than stream_buffer_bytes waiting: else the request is cancelled and
//           the connection closed.
// Errors    an exception out of a handler or of this code ends this connection alone: logged, answered with 500 if possible.
// Leaving   a client that closes or resets cancels its request. One that only closes its sending side gets the answer, then
//           the close; to tell it from one that has left it is sent an interim response (HTTP/1.0 has none: it gets 400).
// Invariant reading goes on while a request is worked on, so that a client that leaves is noticed at once.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "server/http/byte_stream.h"
#include "server/http/exchange.h"
#include "server/http/request_parser.h"

namespace hearth {

// What all connections together hold of large bodies. Beyond it the next large one is refused with 503 while it arrives.
struct BodyBudget {
  static constexpr std::int64_t kSmall = 1 << 20;  // bodies up to this are not counted
  std::atomic<std::int64_t> held{0};
};

struct SessionLimits {
  ParserLimits parser;
  double keep_alive_seconds = 75;
  double header_seconds = 30;
  double body_seconds = 60;
  double stall_seconds = 60;
  double linger_seconds = 2;                                // reads what is still coming after an early refusal
  std::int64_t most_body_bytes = std::int64_t{512} << 20;   // of the BodyBudget
  std::size_t stream_buffer_bytes = std::size_t{16} << 20;  // a pause in a long answer with log-probabilities fits
};

class Session {
 public:
  virtual ~Session() = default;
  virtual void start() = 0;
  // Server is stopping: close now if idle, else after the answer in hand. Any thread.
  virtual void stop_soon() = 0;
  virtual void stop_now() = 0;
};

// on_closed is called once, on the strand, when the connection is gone.
std::shared_ptr<Session> make_session(std::unique_ptr<ByteStream> stream, const SessionLimits& limits,
                                      HttpHandler& handler, std::shared_ptr<BodyBudget> bodies,
                                      std::function<void(Session*)> on_closed);

}  // namespace hearth
