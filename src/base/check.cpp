#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace hearth {

void check_failed(const char* expression, const char* file, int line, const char* values) {
  std::fprintf(stderr, "hearth: internal error at %s:%d: %s is false%s%s\n", file, line, expression,
               *values ? ": " : "", values);
  std::abort();
}

}  // namespace hearth
