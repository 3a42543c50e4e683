// check.h — invariants. HEARTH_CHECK(a == b) is for bugs, never for input: it says where, and aborts.
#pragma once

namespace hearth {
[[noreturn]] void check_failed(const char* expression, const char* file, int line, const char* values = "");
// What a failed check calls before it aborts (prints more). One function; it must not throw.
void on_check_failure(void (*also)());
}  // namespace hearth

#define HEARTH_CHECK(cond)                               \
  do {                                                   \
    if (!(cond)) [[unlikely]]                            \
      ::hearth::check_failed(#cond, __FILE__, __LINE__); \
  } while (0)

// Prints both values: HEARTH_CHECK_EQ(free_blocks, num_blocks).
#define HEARTH_CHECK_EQ(a, b) HEARTH_CHECK_OP_(a, ==, b)
#define HEARTH_CHECK_LE(a, b) HEARTH_CHECK_OP_(a, <=, b)
#define HEARTH_CHECK_LT(a, b) HEARTH_CHECK_OP_(a, <, b)
#define HEARTH_CHECK_OP_(a, op, b)                                                                           \
  do {                                                                                                       \
    const auto hearth_a_ = (a);                                                                              \
    const auto hearth_b_ = (b);                                                                              \
    if (!(hearth_a_ op hearth_b_)) [[unlikely]]                                                              \
      ::hearth::check_failed(#a " " #op " " #b, __FILE__, __LINE__,                                          \
                             (std::to_string(hearth_a_) + " " #op " " + std::to_string(hearth_b_)).c_str()); \
  } while (0)

#include <string>  // std::to_string in the macros above
