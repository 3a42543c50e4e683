#include "server/http/response_writer.h"

#include <fmt/format.h>

#include <ctime>

namespace hearth {
namespace {

// "Tue, 01 Dec 2026 11:05:33 GMT", whatever the locale.
std::string http_date(std::time_t now) {
  static constexpr const char* kDays[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  static constexpr const char* kMonths[] = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                            "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  std::tm t{};
  gmtime_r(&now, &t);
  return fmt::format("{}, {:02} {} {} {:02}:{:02}:{:02} GMT", kDays[t.tm_wday], t.tm_mday, kMonths[t.tm_mon],
                     t.tm_year + 1900, t.tm_hour, t.tm_min, t.tm_sec);
}

// A header value must not end its line: a control character in it would let a client write headers of its own.
bool safe_value(std::string_view value) {
  for (const char c : value)
    if (static_cast<unsigned char>(c) < 0x20 && c != '\t') return false;
  return true;
}

}  // namespace

std::string response_head(const HttpResponse& response, BodyFraming framing, bool keep_alive) {
  std::string head = fmt::format("HTTP/1.1 {} {}\r\ndate: {}\r\nserver: hearth\r\n", response.status,
                                 reason_phrase(response.status), http_date(std::time(nullptr)));
  if (!response.content_type.empty()) head += fmt::format("content-type: {}\r\n", response.content_type);
  for (const auto& [name, value] : response.headers)
    if (safe_value(value)) head += fmt::format("{}: {}\r\n", name, value);
  if (framing == BodyFraming::content_length) head += fmt::format("content-length: {}\r\n", response.body.size());
  if (framing == BodyFraming::chunked) head += "transfer-encoding: chunked\r\n";
  if (!keep_alive) head += "connection: close\r\n";
  head += "\r\n";
  return head;
}

std::string chunk(std::string_view piece) {
  return piece.empty() ? std::string() : fmt::format("{:x}\r\n{}\r\n", piece.size(), piece);
}

}  // namespace hearth
