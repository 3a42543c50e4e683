#include "server/http/request_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/basic_parser.hpp>
#include <limits>

namespace hearth {
namespace http = boost::beast::http;

namespace {

using boost::beast::string_view;
using boost::system::error_code;
constexpr std::uint64_t kMostReserved = 1 << 20;  // what a client announces, it has not yet sent

std::string text_of(string_view v) { return {v.data(), v.size()}; }

}  // namespace

// Writes what Beast reads straight into the request: Beast's own container of fields throws beyond 64 KiB a field.
struct RequestParser::Impl final : http::basic_parser<true> {
  explicit Impl(int max_fields) : most_fields(static_cast<std::size_t>(std::max(max_fields, 0))) {}

  HttpRequest request;
  std::string target;
  std::size_t most_fields;
  bool too_many_fields = false;

  void on_request_impl(http::verb, string_view method, string_view target_text, int version, error_code&) override {
    request.method = text_of(method);
    request.version = version;
    target = text_of(target_text);
  }
  void on_field_impl(http::field, string_view name, string_view value, error_code& ec) override {
    if (is_header_done()) return;  // trailers say nothing that is used here, and must not pass for headers
    if (request.headers.size() == most_fields) {
      too_many_fields = true;
      ec = http::error::header_limit;
    } else {
      request.headers.add(text_of(name), text_of(value));
    }
  }
  void on_body_init_impl(const boost::optional<std::uint64_t>& length, error_code&) override {
    if (length) request.body.reserve(std::min(*length, kMostReserved));
  }
  std::size_t on_body_impl(string_view piece, error_code&) override {
    request.body.append(piece.data(), piece.size());
    return piece.size();
  }
  std::size_t on_chunk_body_impl(std::uint64_t, string_view piece, error_code& ec) override {
    return on_body_impl(piece, ec);
  }
  void on_response_impl(int, string_view, int, error_code&) override {}
  void on_header_impl(error_code&) override {}
  void on_chunk_header_impl(std::uint64_t, string_view, error_code&) override {}
  void on_finish_impl(error_code&) override {}
};

RequestParser::RequestParser(ParserLimits limits) : limits_(limits) { reset(); }
RequestParser::~RequestParser() = default;

void RequestParser::reset() {
  impl_ = std::make_unique<Impl>(limits_.max_header_count);
  const auto most = static_cast<std::int64_t>(std::numeric_limits<std::uint32_t>::max());
  impl_->header_limit(static_cast<std::uint32_t>(std::clamp<std::int64_t>(limits_.max_header_bytes, 1, most)));
  impl_->body_limit(static_cast<std::uint64_t>(std::max<std::int64_t>(limits_.max_body_bytes, 0)));
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
bool RequestParser::done() const { return header_checked_ && impl_->is_done(); }

std::size_t RequestParser::body_bytes() const { return impl_->request.body.size(); }

std::size_t RequestParser::feed(std::string_view bytes) {
  std::size_t used = 0;
  while (!failed() && !done() && used < bytes.size()) {
    boost::system::error_code ec;
    impl_->eager(header_checked_);
    const std::size_t n = impl_->put(boost::asio::const_buffer(bytes.data() + used, bytes.size() - used), ec);
    used += n;
    if (ec == http::error::need_more) {
      // A chunk's extensions, or the trailers, that do not end: Beast limits the header block only.
      if (header_checked_ && static_cast<std::int64_t>(bytes.size() - used) > limits_.max_header_bytes)
        fail(431, fmt::format("a chunk header or the trailers are larger than {} bytes", limits_.max_header_bytes));
      return used;
    }
    if (impl_->too_many_fields) {
      fail(431, fmt::format("the request has more than {} headers", limits_.max_header_count));
    } else if (ec == http::error::header_limit || ec == http::error::buffer_overflow) {
      fail(431, fmt::format("the request line and headers are larger than {} bytes", limits_.max_header_bytes));
    } else if (ec == http::error::body_limit) {
      fail(413, fmt::format("the request body is larger than the limit of {} bytes (--max-request-bytes)",
                            limits_.max_body_bytes));
    } else if (ec == http::error::bad_version) {
      fail(505, "only HTTP/1.0 and HTTP/1.1 are spoken here");
    } else if (ec) {
      fail(400, "malformed HTTP request: " + ec.message());
    } else if (!header_checked_ && impl_->is_header_done()) {
      check_header();
    } else if (n == 0) {
      return used;
    }
  }
  return used;
}

void RequestParser::check_header() {
  header_checked_ = true;
  if (impl_->content_length() &&
      *impl_->content_length() > static_cast<std::uint64_t>(std::max<std::int64_t>(limits_.max_body_bytes, 0)))
    return fail(413, fmt::format("the request body has {} bytes, the limit is {} (--max-request-bytes)",
                                 *impl_->content_length(), limits_.max_body_bytes));
  const std::string_view expect = impl_->request.headers.get("expect");
  if (expect.empty() || impl_->request.version < 11) return;
  if (!equals_ignoring_case(expect, "100-continue"))
    return fail(417, "the only expectation known here is 100-continue");
  wants_continue_ = true;
}

HttpRequest RequestParser::take() {
  HttpRequest request = std::move(impl_->request);
  request.keep_alive = header_checked_ && impl_->keep_alive();
  if (!impl_->target.empty() && !parse_target(impl_->target, request)) fail(400, "the request target is no path");
  return request;
}

}  // namespace hearth
