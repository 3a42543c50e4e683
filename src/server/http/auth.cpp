#include "server/http/auth.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>

namespace hearth {
namespace {

// Digests are compared, so that neither the length nor the content of a key shows in the time taken.
bool same_secret(std::string_view a, std::string_view b) {
  std::array<unsigned char, SHA256_DIGEST_LENGTH> da{}, db{};
  SHA256(reinterpret_cast<const unsigned char*>(a.data()), a.size(), da.data());
  SHA256(reinterpret_cast<const unsigned char*>(b.data()), b.size(), db.data());
  return CRYPTO_memcmp(da.data(), db.data(), da.size()) == 0;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

}  // namespace

bool Auth::needs_key(const HttpRequest& request) const {
  if (keys_.empty() || request.method == "OPTIONS") return false;
  std::string_view path = request.path;
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  static constexpr std::array<std::string_view, 5> kOpen = {"/", "/health", "/ping", "/docs", "/openapi.json"};
  static constexpr std::array<std::string_view, 3> kStatus = {"/metrics", "/version", "/load"};
  if (std::find(kOpen.begin(), kOpen.end(), path) != kOpen.end()) return false;
  if (std::find(kStatus.begin(), kStatus.end(), path) != kStatus.end()) return protect_metrics_;
  return true;
}

bool Auth::has_credentials(const HttpRequest& request) {
  std::string_view bearer = trimmed(request.headers.get("authorization"));
  if (bearer.size() >= 6 && equals_ignoring_case(bearer.substr(0, 6), "bearer")) bearer = trimmed(bearer.substr(6));
  return !bearer.empty() || !request.headers.get("x-api-key").empty() || !request.headers.get("api-key").empty();
}

bool Auth::is_key(std::string_view candidate) const {
  bool found = false;
  for (const std::string& key : keys_) found |= same_secret(key, candidate);  // all of them, whatever the answer
  return found && !candidate.empty();
}

bool Auth::has_key(const HttpRequest& request) const {
  const std::string_view authorization = trimmed(request.headers.get("authorization"));
  const std::size_t space = authorization.find(' ');
  if (space != std::string_view::npos && equals_ignoring_case(authorization.substr(0, space), "bearer") &&
      is_key(trimmed(authorization.substr(space))))
    return true;
  return is_key(trimmed(request.headers.get("x-api-key"))) || is_key(trimmed(request.headers.get("api-key")));
}

}  // namespace hearth
