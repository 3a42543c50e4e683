// sse.h — server-sent events: one `data: <one line of JSON>` and a blank line, one flush each.
//
//   SseWriter sse(exchange);
//   sse.open();
//   sse.event(json);  …
//   sse.done();            // "data: [DONE]"
//
// While nothing is sent for kKeepAliveSeconds a comment line goes out, which every client ignores.
// Threads   any; in the order of the calls.
#pragma once

#include "base/json.h"
#include "server/http/exchange.h"

namespace hearth {

inline constexpr double kKeepAliveSeconds = 15;
inline constexpr std::string_view kKeepAliveComment = ": keep-alive\n\n";

// "data: {…}\n\n"; with a name "event: name\ndata: {…}\n\n".
std::string sse_event(const Json& data, std::string_view name = {});

class SseWriter {
 public:
  explicit SseWriter(ExchangePtr exchange) : exchange_(std::move(exchange)) {}
  void open();
  void event(const Json& data) { exchange_->write(sse_event(data)); }
  void done();                   // and the answer ends
  void error(const Json& body);  // an event with {"error": …}, [DONE], and the connection closes

 private:
  ExchangePtr exchange_;
};

}  // namespace hearth
