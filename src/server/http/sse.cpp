#include "server/http/sse.h"

#include <fmt/format.h>

namespace hearth {

std::string sse_event(const Json& data, std::string_view name) {
  const std::string json = dump_json(data);
  return name.empty() ? fmt::format("data: {}\n\n", json) : fmt::format("event: {}\ndata: {}\n\n", name, json);
}

void SseWriter::open() {
  HttpResponse head;
  head.content_type = "text/event-stream; charset=utf-8";
  head.headers.set("cache-control", "no-cache");
  head.headers.set("x-accel-buffering", "no");
  exchange_->start_stream(std::move(head), std::string(kKeepAliveComment), kKeepAliveSeconds);
}

void SseWriter::done() {
  exchange_->write("data: [DONE]\n\n");
  exchange_->finish();
}

void SseWriter::error(const Json& body) {
  exchange_->write(sse_event(body));
  exchange_->write("data: [DONE]\n\n");
  exchange_->finish(true);
}

}  // namespace hearth
