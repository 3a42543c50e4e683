// endpoint_def.h — an endpoint is one file in server/endpoints/ that defines `const EndpointDef endpoints_<file>`.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace hearth {

class Router;
struct Service;

struct EndpointDef {
  std::string_view name;
  void (*add_routes)(Router& router);  // registers its paths and methods
};

std::span<const EndpointDef* const> all_endpoints();

}  // namespace hearth
