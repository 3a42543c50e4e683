// error.h — how parsing and rendering stop inside the engine; ChatTemplate turns it into StartupError or Status.
#pragma once

#include <string>
#include <utility>

namespace hearth::jinja {

// kind is Python's or Jinja's name for it: TypeError, UndefinedError, TemplateSyntaxError, …; "raise_exception" carries the
// template's own words. line is 0 until the statement that was running is known.
struct Error {
  std::string kind;
  std::string message;
  int line = 0;

  Error(std::string k, std::string m, int l = 0) : kind(std::move(k)), message(std::move(m)), line(l) {}
};

}  // namespace hearth::jinja
