#include "server/http/router.h"

#include <algorithm>
#include <map>
#include <optional>

namespace hearth {
namespace {

using Params = std::map<std::string, std::string>;

std::optional<Params> match_pattern(std::string_view pattern, std::string_view path) {
  Params params;
  while (!pattern.empty()) {
    if (pattern.front() == '{') {
      const std::size_t end = pattern.find('}');
      std::string_view name = pattern.substr(1, end - 1);
      const bool rest = name.size() > 3 && name.substr(name.size() - 3) == "...";
      if (rest) name.remove_suffix(3);
      const std::string_view value = rest ? path : path.substr(0, path.find('/'));
      if (value.empty()) return std::nullopt;
      params.emplace(name, value);
      path.remove_prefix(value.size());
      pattern.remove_prefix(end + 1);
    } else {
      if (path.empty() || path.front() != pattern.front()) return std::nullopt;
      path.remove_prefix(1);
      pattern.remove_prefix(1);
    }
  }
  if (!path.empty()) return std::nullopt;
  return params;
}

}  // namespace

std::vector<std::string> Router::match(HttpRequest& request) const {
  std::string_view path = request.path;
  while (path.size() > 1 && path.back() == '/') path.remove_suffix(1);
  const std::string_view method = request.is_head() ? std::string_view("GET") : std::string_view(request.method);
  std::vector<std::string> allowed;
  for (std::size_t i = 0; i < routes_.size(); ++i) {
    std::optional<Params> params = match_pattern(routes_[i].pattern, path);
    if (!params) continue;
    if (request.route.empty()) request.route = routes_[i].pattern;
    allowed.push_back(routes_[i].method);
    if (routes_[i].method == "GET") allowed.push_back("HEAD");
    if (routes_[i].method != method || request.handler >= 0) continue;
    request.handler = static_cast<int>(i);
    request.route = routes_[i].pattern;
    request.params = std::move(*params);
  }
  std::sort(allowed.begin(), allowed.end());
  allowed.erase(std::unique(allowed.begin(), allowed.end()), allowed.end());
  return allowed;
}

}  // namespace hearth
