#include "base/check.h"

#include <atomic>
#include <cstdio>
#include <cstdlib>

namespace hearth {
namespace {
std::atomic<void (*)()> also_call{nullptr};
}  // namespace

void on_check_failure(void (*also)()) { also_call = also; }

void check_failed(const char* expression, const char* file, int line, const char* values) {
  std::fprintf(stderr, "hearth: internal error at %s:%d: %s is false%s%s\n", file, line, expression,
               *values ? ": " : "", values);
  if (void (*also)() = also_call.exchange(nullptr)) also();  // once: a check failing inside it must not come back
  std::abort();
}

}  // namespace hearth
