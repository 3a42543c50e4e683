// regex.h — Unicode patterns as tokenizer files write them (Oniguruma's syntax), run by PCRE2.
//
// Owns      the compiled pattern; machine code where the platform allows it, the interpreter otherwise.
// Threads   find from any thread; each thread has its own scratch memory.
// Limits    steps grow with the subject's length; a search that passes its limit counts as "no match", so that no pattern
//           can hold a thread for ever.
// Errors    the constructor throws RegexError; find never fails.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hearth {

struct RegexError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct ByteRange {
  std::size_t begin, end;  // [begin, end)
  std::size_t size() const { return end - begin; }
};

class Regex {
 public:
  explicit Regex(std::string_view pattern);
  ~Regex();
  Regex(Regex&&) noexcept;
  Regex& operator=(Regex&&) noexcept;

  // The leftmost match that starts at or after `from`; look-behind sees what lies before it.
  // Before    subject is UTF-8, from lies on a character's border
  std::optional<ByteRange> find(std::string_view subject, std::size_t from) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// Oniguruma to PCRE2: \s is exactly White_Space, \w holds marks, \h is a hex digit, \p{Han} is the script property,
// [a&&[^b]] becomes a look-ahead, (?m) is (?s). Throws RegexError for what has no counterpart.
std::string translate_pattern(std::string_view pattern);

}  // namespace hearth
