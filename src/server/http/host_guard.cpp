#include "server/http/host_guard.h"

#include <unistd.h>

#include <boost/asio/ip/address.hpp>
#include <optional>

#include "server/http/message.h"

namespace hearth {
namespace {

using boost::asio::ip::address;

std::optional<address> as_address(std::string_view text) {
  boost::system::error_code ec;
  const address a = boost::asio::ip::make_address(text, ec);
  if (ec) return std::nullopt;
  return a;
}

bool is_private(const address& a) {
  if (a.is_loopback() || a.is_unspecified()) return true;
  if (a.is_v6()) {
    const auto bytes = a.to_v6().to_bytes();
    return a.to_v6().is_link_local() || (bytes[0] & 0xfe) == 0xfc;
  }
  const auto b = a.to_v4().to_bytes();
  return b[0] == 10 || (b[0] == 172 && (b[1] & 0xf0) == 16) || (b[0] == 192 && b[1] == 168) ||
         (b[0] == 169 && b[1] == 254);
}

bool ends_with(std::string_view text, std::string_view tail) {
  return text.size() > tail.size() && equals_ignoring_case(text.substr(text.size() - tail.size()), tail);
}

std::string_view without_port(std::string_view host) {
  if (!host.empty() && host.front() == '[') return host.substr(1, host.find(']') - 1);
  const std::size_t colon = host.rfind(':');
  if (colon != std::string_view::npos && host.find(':') == colon) return host.substr(0, colon);
  return host;
}

}  // namespace

bool is_local_host_header(std::string_view host, std::string_view name) {
  host = without_port(host);
  while (!host.empty() && host.back() == '.') host.remove_suffix(1);
  if (host.empty() || equals_ignoring_case(host, "localhost") || equals_ignoring_case(host, name)) return true;
  if (const auto a = as_address(host)) return is_private(*a);
  return ends_with(host, ".localhost") || ends_with(host, ".local") || ends_with(host, ".internal");
}

bool is_loopback_address(std::string_view text) {
  text = without_port(text);
  if (equals_ignoring_case(text, "localhost")) return true;
  const auto a = as_address(text);
  return a && a->is_loopback();
}

std::string machine_name() {
  char name[256] = {};
  return gethostname(name, sizeof name - 1) == 0 ? std::string(name) : std::string();
}

}  // namespace hearth
