// auth.h — which paths need a key, and whether a request carries one.
//
// Keys      Authorization: Bearer K (scheme without case), x-api-key: K, api-key: K. Any configured key is good.
// Time      a comparison does not depend on where the first difference is.
#pragma once

#include <string>
#include <vector>

#include "server/http/message.h"

namespace hearth {

class Auth {
 public:
  Auth(std::vector<std::string> keys, bool protect_metrics)
      : keys_(std::move(keys)), protect_metrics_(protect_metrics) {}
  bool needs_key(const HttpRequest& request) const;  // false without keys, for OPTIONS and for the open paths
  bool has_key(const HttpRequest& request) const;
  static bool has_credentials(const HttpRequest& request);  // any of the three headers says something
  bool allows(const HttpRequest& request) const { return !needs_key(request) || has_key(request); }

 private:
  bool is_key(std::string_view candidate) const;
  std::vector<std::string> keys_;
  bool protect_metrics_;
};

}  // namespace hearth
