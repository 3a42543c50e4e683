// str.h — a string whose bytes remember whether they came from the request, and Python's string operations on it.
//
// Invariant  text is UTF-8; marks are ascending, disjoint, not adjacent, not empty. Indices are bytes unless named chars.
// Rule       a byte of a result is marked when the byte it was made from is marked.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/budget.h"
#include "text/marked_text.h"

namespace hearth::jinja {

using Span = MarkedText::Span;

struct Str {
  std::string text;
  std::vector<Span> marks;

  std::size_t size() const { return text.size(); }
  std::string_view view() const { return text; }
  bool marked_at(std::size_t i) const;
};

Str plain(std::string_view text);
Str marked(std::string_view text);

// Collects pieces of strings and keeps their marks.
class StrBuilder {
 public:
  explicit StrBuilder(Budget& budget) : budget_(budget) {}
  void add(std::string_view unmarked) { add(unmarked, false); }
  void add(std::string_view text, bool mark);
  void add(const Str& s) { add(s, 0, s.size()); }
  void add(const Str& s, std::size_t begin, std::size_t end);
  void fill(std::string_view unit, std::size_t times);
  std::size_t size() const { return out_.text.size(); }
  Str take() { return std::move(out_); }
  const Str& view() const { return out_; }

 private:
  void mark(std::size_t begin, std::size_t end);
  Budget& budget_;
  Str out_;
};

Str slice_bytes(const Str& s, std::size_t begin, std::size_t end, Budget& b);
Str concat(const Str& a, const Str& c, Budget& b);
Str repeat(const Str& s, std::size_t times, Budget& b);

// ---- characters ----------------------------------------------------------------------------------------------------
bool is_ascii(std::string_view s);
std::size_t char_count(std::string_view s);
std::size_t byte_of_char(std::string_view s, std::size_t chars);  // s.size() when past the end
char32_t decode_char(std::string_view s, std::size_t& pos);       // advances; U+FFFD for a bad byte
void encode_char(std::string& out, char32_t c);
bool valid_utf8(std::string_view s);
bool is_space(char32_t c);  // Python's str.isspace, one character

// ---- search: time is linear in the text, whatever the needle -------------------------------------------------------
constexpr std::size_t kNotFound = std::string_view::npos;
std::size_t find_text(std::string_view text, std::string_view needle, std::size_t from = 0);
std::size_t rfind_text(std::string_view text, std::string_view needle, std::size_t end,
                       Budget& b);  // a match that ends by end

// ---- whole strings -------------------------------------------------------------------------------------------------
enum class Side { both, left, right };
// chars absent: white space.
Str strip(const Str& s, Side side, std::optional<std::string_view> chars, Budget& b);
std::vector<Str> split(const Str& s, std::optional<std::string_view> sep, std::int64_t max, bool from_right, Budget& b);
std::vector<Str> split_lines(const Str& s, bool keep_ends, Budget& b);
Str replace(const Str& s, std::string_view from, const Str& to, std::int64_t max, Budget& b);
enum class Case { upper, lower, title, capitalize, swap };
Str change_case(const Str& s, Case how, Budget& b);

}  // namespace hearth::jinja
