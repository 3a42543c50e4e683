#include "server/http/message.h"

#include <algorithm>
#include <optional>

namespace hearth {
namespace {

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  c = lower(c);
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
      out.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      out.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  return out;
}

}  // namespace

bool equals_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

void Headers::set(std::string_view name, std::string value) {
  std::erase_if(list_, [&](const auto& h) { return equals_ignoring_case(h.first, name); });
  list_.emplace_back(std::string(name), std::move(value));
}

const std::string* Headers::find(std::string_view name) const {
  for (const auto& [key, value] : list_)
    if (equals_ignoring_case(key, name)) return &value;
  return nullptr;
}

std::string_view Headers::get(std::string_view name) const {
  const std::string* value = find(name);
  return value ? std::string_view(*value) : std::string_view();
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100:
      return "Continue";
    case 200:
      return "OK";
    case 204:
      return "No Content";
    case 400:
      return "Bad Request";
    case 401:
      return "Unauthorized";
    case 403:
      return "Forbidden";
    case 404:
      return "Not Found";
    case 405:
      return "Method Not Allowed";
    case 408:
      return "Request Timeout";
    case 409:
      return "Conflict";
    case 413:
      return "Content Too Large";
    case 415:
      return "Unsupported Media Type";
    case 417:
      return "Expectation Failed";
    case 422:
      return "Unprocessable Entity";
    case 429:
      return "Too Many Requests";
    case 431:
      return "Request Header Fields Too Large";
    case 500:
      return "Internal Server Error";
    case 501:
      return "Not Implemented";
    case 503:
      return "Service Unavailable";
    case 505:
      return "HTTP Version Not Supported";
    default:
      return "Unknown";
  }
}

std::string request_line(const HttpRequest& request) {
  constexpr std::size_t kMost = 1000;
  std::string line = request.method + " " + request.target;
  if (line.size() > kMost) line.replace(kMost, std::string::npos, "…");
  return line;
}

bool parse_target(std::string_view target, HttpRequest& request) {
  request.target = std::string(target);
  request.host = std::string(request.headers.get("host"));
  for (std::string_view scheme : {"http://", "https://"}) {
    if (target.size() < scheme.size() || !equals_ignoring_case(target.substr(0, scheme.size()), scheme)) continue;
    target.remove_prefix(scheme.size());
    const std::size_t end = target.find_first_of("/?");
    request.host = std::string(target.substr(0, end));
    target = end == std::string_view::npos ? std::string_view("/") : target.substr(end);
    break;
  }
  if (target == "*") {
    request.path = "*";
    return true;
  }
  target = target.substr(0, target.find('#'));
  const std::size_t question = target.find('?');
  if (question != std::string_view::npos) request.query = std::string(target.substr(question + 1));
  std::string_view path = target.substr(0, question);
  if (path.empty()) path = "/";
  if (path.front() != '/') return false;
  std::optional<std::string> decoded = percent_decode(path, false);
  if (!decoded) {
    request.path = path;  // as it is, for the answer that says so
    return false;
  }
  request.path = std::move(*decoded);
  return true;
}

std::string query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), pair.size() + 1));
    const std::size_t equal = pair.find('=');
    if (pair.substr(0, equal) != name) continue;
    if (equal == std::string_view::npos) return {};
    return percent_decode(pair.substr(equal + 1), true).value_or("");
  }
  return {};
}

}  // namespace hearth
