#include <fmt/format.h>

#include <array>
#include <string>

#include "text/regex.h"

namespace hearth {
namespace {

// PCRE2's own \s also takes U+180E, which left White_Space in Unicode 6.3.
constexpr std::string_view kSpace =
    "\\x{9}-\\x{D}\\x{20}\\x{85}\\x{A0}\\x{1680}\\x{2000}-\\x{200A}\\x{2028}\\x{2029}\\x{202F}\\x{205F}\\x{3000}";
constexpr std::string_view kNotSpace =
    "\\x{0}-\\x{8}\\x{E}-\\x{1F}\\x{21}-\\x{84}\\x{86}-\\x{9F}\\x{A1}-\\x{167F}\\x{1681}-\\x{1FFF}\\x{200B}-\\x{2027}"
    "\\x{202A}-\\x{202E}\\x{2030}-\\x{205E}\\x{2060}-\\x{2FFF}\\x{3001}-\\x{10FFFF}";
constexpr std::string_view kWord = "\\p{L}\\p{M}\\p{Nd}\\p{Nl}\\p{Pc}";
constexpr std::string_view kHex = "0-9A-Fa-f";

// PCRE2 takes a bare script name for Script_Extensions, which is wider.
constexpr std::array<std::string_view, 26> kScripts = {
    "Arabic",   "Armenian", "Bengali",   "Bopomofo", "Cyrillic", "Devanagari", "Ethiopic", "Georgian", "Greek",
    "Gujarati", "Gurmukhi", "Han",       "Hangul",   "Hebrew",   "Hiragana",   "Kannada",  "Katakana", "Khmer",
    "Lao",      "Latin",    "Malayalam", "Myanmar",  "Tamil",    "Telugu",     "Thai",     "Tibetan"};

struct LongName {
  std::string_view name, category;
};
constexpr std::array<LongName, 11> kCategories = {{{"Letter", "L"},
                                                   {"Lowercase_Letter", "Ll"},
                                                   {"Uppercase_Letter", "Lu"},
                                                   {"Titlecase_Letter", "Lt"},
                                                   {"Mark", "M"},
                                                   {"Number", "N"},
                                                   {"Decimal_Number", "Nd"},
                                                   {"Punctuation", "P"},
                                                   {"Symbol", "S"},
                                                   {"Separator", "Z"},
                                                   {"Other", "C"}}};

class Translator {
 public:
  explicit Translator(std::string_view pattern) : in_(pattern) {}

  std::string run() {
    while (pos_ < in_.size()) {
      const char c = in_[pos_];
      if (c == '\\')
        escape(false);
      else if (c == '[')
        char_class();
      else if (c == '(')
        group();
      else {
        out_.push_back(c);
        ++pos_;
      }
    }
    return std::move(out_);
  }

 private:
  [[noreturn]] void refuse(std::string_view what) const {
    throw RegexError(fmt::format("{} at byte {} of the pattern {}", what, pos_, in_));
  }
  bool next_is(std::string_view s) const { return in_.substr(pos_, s.size()) == s; }

  // A class's items outside of one need brackets.
  void put(bool in_class, bool negated, std::string_view items) {
    if (in_class)
      out_.append(items);
    else
      out_.append(negated ? "[^" : "[").append(items).append("]");
  }

  void escape(bool in_class) {
    if (pos_ + 1 >= in_.size()) refuse("a lone backslash");
    const char c = in_[pos_ + 1];
    switch (c) {
      case 's':
        put(in_class, false, kSpace);
        break;
      case 'S':
        put(in_class, false, kNotSpace);
        break;
      case 'w':
        put(in_class, false, kWord);
        break;
      case 'W':
        if (in_class) refuse("\\W inside a class is not offered");
        put(false, true, kWord);
        break;
      case 'h':
        put(in_class, false, kHex);
        break;
      case 'H':
        if (in_class) refuse("\\H inside a class is not offered");
        put(false, true, kHex);
        break;
      case 'p':
      case 'P':
        property();
        return;
      case 'u':
        if (in_.size() < pos_ + 6) refuse("\\u needs four hex digits");
        out_.append("\\x{").append(in_.substr(pos_ + 2, 4)).append("}");
        pos_ += 6;
        return;
      default:
        out_.append(in_.substr(pos_, 2));
    }
    pos_ += 2;
  }

  void property() {
    const std::size_t close = in_.find('}', pos_);
    if (pos_ + 2 >= in_.size() || in_[pos_ + 2] != '{' || close == std::string_view::npos) {
      out_.append(in_.substr(pos_, 2));
      pos_ += 2;
      return;
    }
    std::string_view name = in_.substr(pos_ + 3, close - pos_ - 3);
    out_.append(in_.substr(pos_, 3));
    if (name.starts_with('^')) {
      out_.push_back('^');
      name.remove_prefix(1);
    }
    for (const LongName& l : kCategories)
      if (name == l.name) name = l.category;
    for (std::string_view script : kScripts)
      if (name == script) out_.append("sc:");
    out_.append(name).push_back('}');
    pos_ = close + 1;
  }

  // Before: in_[pos_] == '['. The class is written at the end of out_.
  void char_class() {
    const std::size_t start = out_.size();
    out_.push_back('[');
    ++pos_;
    const bool negated = next_is("^");
    if (negated) {
      out_.push_back('^');
      ++pos_;
    }
    for (bool first = true;; first = false) {
      if (pos_ >= in_.size()) refuse("a class without its ]");
      const char c = in_[pos_];
      if (c == ']' && !first) {
        out_.push_back(c);
        ++pos_;
        return;
      }
      if (c == '\\') {
        escape(true);
      } else if (next_is("[:")) {
        const std::size_t close = in_.find(":]", pos_);
        if (close == std::string_view::npos) refuse("a POSIX class without its :]");
        out_.append(in_.substr(pos_, close + 2 - pos_));
        pos_ = close + 2;
      } else if (c == '[') {
        refuse("a class inside a class is not offered");
      } else if (next_is("&&")) {
        if (negated) refuse("&& in a negated class is not offered");
        intersection(start);
        return;
      } else {
        out_.push_back(c);
        ++pos_;
      }
    }
  }

  // [A&&[B]] is (?:(?=[B])[A]).
  void intersection(std::size_t start) {
    pos_ += 2;
    if (!next_is("[")) refuse("&& must be followed by a class");
    std::string left = out_.substr(start) + "]";
    out_.resize(start);
    out_.append("(?:(?=");
    char_class();
    if (!next_is("]")) refuse("only one class may follow &&");
    ++pos_;
    out_.append(")").append(left).append(")");
  }

  void group() {
    out_.push_back('(');
    ++pos_;
    if (!next_is("?")) return;
    std::size_t i = pos_ + 1;
    while (i < in_.size() && std::string_view("imx-").find(in_[i]) != std::string_view::npos) ++i;
    if (i == pos_ + 1 || i >= in_.size() || (in_[i] != ':' && in_[i] != ')')) return;
    for (; pos_ < i; ++pos_) out_.push_back(in_[pos_] == 'm' ? 's' : in_[pos_]);
  }

  std::string_view in_;
  std::size_t pos_ = 0;
  std::string out_;
};

}  // namespace

std::string translate_pattern(std::string_view pattern) { return Translator(pattern).run(); }

}  // namespace hearth
