// budget.h — what one rendering may spend: steps, bytes and depth, so that no template can hang the server or fill its memory.
//
// Units     a step is one node evaluated, one element visited, 16 bytes searched or 64 bytes copied; bytes are bytes produced.
// Errors    throws Error of kind "LimitError"; the rendering ends with it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "text/jinja/error.h"

namespace hearth::jinja {

class Budget {
 public:
  Budget(std::int64_t steps, std::int64_t bytes) : steps_(steps), bytes_(bytes) {}

  void step(std::size_t n = 1) {
    if (n > static_cast<std::size_t>(steps_)) throw Error("LimitError", "the template takes too many steps");
    steps_ -= static_cast<std::int64_t>(n);
  }
  // Before n bytes are produced.
  void bytes(std::size_t n) {
    if (n > static_cast<std::size_t>(bytes_)) throw Error("LimitError", "the template produces too much text");
    bytes_ -= static_cast<std::int64_t>(n);
    step(n / 64);
  }
  // n values kept in a list or dict.
  void values(std::size_t n) {
    if (n > static_cast<std::size_t>(bytes_) / 64) throw Error("LimitError", "the template produces too many values");
    bytes(n * 64);
  }
  void scan(std::size_t n) { step(1 + n / 16); }

  // Nesting of evaluation (macros calling macros, expressions in expressions).
  class Level {
   public:
    explicit Level(Budget& b) : b_(b) {
      if (++b_.depth_ > kMaxDepth) {
        --b_.depth_;
        throw Error("RecursionError", "the template nests too deeply");
      }
    }
    ~Level() { --b_.depth_; }
    Level(const Level&) = delete;
    Level& operator=(const Level&) = delete;

   private:
    Budget& b_;
  };
  static constexpr int kMaxDepth = 1000;

 private:
  std::int64_t steps_, bytes_;
  int depth_ = 0;
};

}  // namespace hearth::jinja
