#include "server/http/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <limits>

namespace hearth {
namespace http = boost::beast::http;

struct RequestParser::Impl {
  http::request_parser<http::string_body> parser;
};

RequestParser::RequestParser(ParserLimits limits) : limits_(limits) { reset(); }
RequestParser::~RequestParser() = default;

void RequestParser::reset() {
  impl_ = std::make_unique<Impl>();
  const auto most = static_cast<std::int64_t>(std::numeric_limits<std::uint32_t>::max());
  impl_->parser.header_limit(static_cast<std::uint32_t>(std::clamp<std::int64_t>(limits_.max_header_bytes, 1, most)));
  impl_->parser.body_limit(static_cast<std::uint64_t>(std::max<std::int64_t>(limits_.max_body_bytes, 0)));
  status_ = 0;
  message_.clear();
  header_checked_ = wants_continue_ = false;
}

void RequestParser::fail(int status, std::string message) {
  status_ = status;
  message_ = std::move(message);
}

bool RequestParser::header_done() const { return header_checked_ && status_ == 0; }
bool RequestParser::wants_continue() const { return wants_continue_ && !done(); }
void RequestParser::told_continue() { wants_continue_ = false; }
bool RequestParser::done() const { return header_checked_ && impl_->parser.is_done(); }

std::size_t RequestParser::feed(std::string_view bytes) {
  std::size_t used = 0;
  while (!failed() && !done() && used < bytes.size()) {
    boost::system::error_code ec;
    impl_->parser.eager(header_checked_);
    const std::size_t n = impl_->parser.put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), ec);
    used += n;
    if (ec == http::error::need_more) return used;
    if (ec == http::error::header_limit || ec == http::error::buffer_overflow) {
      fail(431, fmt::format("the request line and headers are larger than {} bytes", limits_.max_header_bytes));
    } else if (ec == http::error::body_limit) {
      fail(413, fmt::format("the request body is larger than the limit of {} bytes (--max-request-bytes)",
                            limits_.max_body_bytes));
    } else if (ec == http::error::bad_version) {
      fail(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    } else if (ec) {
      fail(400, "malformed HTTP request: " + ec.message());
    } else if (!header_checked_ && impl_->parser.is_header_done()) {
      check_header();
    } else if (n == 0) {
      return used;
    }
  }
  return used;
}

void RequestParser::check_header() {
  header_checked_ = true;
  const auto& fields = impl_->parser.get();
  const auto count = std::distance(fields.begin(), fields.end());
  if (count > limits_.max_header_count)
    return fail(431, fmt::format("the request has {} headers, the limit is {}", count, limits_.max_header_count));
  if (impl_->parser.content_length() &&
      *impl_->parser.content_length() > static_cast<std::uint64_t>(std::max<std::int64_t>(limits_.max_body_bytes, 0)))
    return fail(413, fmt::format("the request body has {} bytes, the limit is {} (--max-request-bytes)",
                                 *impl_->parser.content_length(), limits_.max_body_bytes));
  const auto expect = fields[http::field::expect];
  if (expect.empty() || fields.version() < 11) return;
  if (!equals_ignoring_case(std::string_view(expect.data(), expect.size()), "100-continue"))
    return fail(417, "the only expectation known here is 100-continue");
  wants_continue_ = true;
}

HttpRequest RequestParser::take() {
  auto message = impl_->parser.release();
  HttpRequest request;
  request.method = std::string(message.method_string());
  request.version = static_cast<int>(message.version());
  request.keep_alive = message.keep_alive();
  for (const auto& field : message) request.headers.add(std::string(field.name_string()), std::string(field.value()));
  if (!parse_target(std::string_view(message.target().data(), message.target().size()), request))
    fail(400, "the request target is no path");
  request.body = std::move(message.body());
  return request;
}

}  // namespace hearth
