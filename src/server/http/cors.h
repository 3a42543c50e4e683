// cors.h — cross-origin rules for browsers: preflight answers and the headers on every other answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "server/http/message.h"

namespace hearth {

struct CorsRules {
  std::vector<std::string> origins{"*"}, methods{"*"}, headers{"*"};
  bool credentials = false;
};

class Cors {
 public:
  explicit Cors(CorsRules rules);
  // The answer to a preflight (OPTIONS with Origin and Access-Control-Request-Method); none for any other request.
  std::optional<HttpResponse> preflight(const HttpRequest& request) const;
  void decorate(const HttpRequest& request, HttpResponse& response) const;

 private:
  bool allows_origin(std::string_view origin) const;
  void add_origin(const HttpRequest& request, HttpResponse& response) const;
  CorsRules rules_;
  bool any_origin_, any_method_, any_header_;
};

}  // namespace hearth
