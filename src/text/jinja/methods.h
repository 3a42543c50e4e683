// methods.h — tables of methods by the type they belong to.
#pragma once

#include <span>
#include <string_view>

#include "text/jinja/interp.h"

namespace hearth::jinja {

struct Method {
  std::string_view name;
  NativeFn fn;
};

std::span<const Method> string_methods();

}  // namespace hearth::jinja
