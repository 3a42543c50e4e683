#include "text/jinja/lexer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

namespace hearth::jinja {
namespace {

using Type = Token::Type;

[[noreturn]] void fail(std::string message, int line) { throw Error("TemplateSyntaxError", std::move(message), line); }

std::string with_unix_newlines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (std::size_t i = 0; i < source.size(); ++i) {
    if (source[i] != '\r') {
      out += source[i];
      continue;
    }
    out += '\n';
    if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
  }
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_word_byte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
         static_cast<unsigned char>(c) >= 0x80;
}

std::size_t space_length(std::string_view s, std::size_t pos) {
  std::size_t p = pos;
  while (p < s.size()) {
    std::size_t next = p;
    if (!is_space(decode_char(s, next))) break;
    p = next;
  }
  return p - pos;
}

std::size_t end_without_space(std::string_view s) {
  std::size_t end = 0;
  for (std::size_t p = 0; p < s.size();)
    if (!is_space(decode_char(s, p))) end = p;
  return end;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : s_(std::move(source)) {}

  std::vector<Token> run() {
    while (pos_ < s_.size()) data();
    emit(Type::end);
    return std::move(out_);
  }

 private:
  void emit(Type type, std::string text = {}, Value value = {}) {
    out_.push_back({type, std::move(text), std::move(value), line_});
  }
  bool at(std::string_view t) const { return s_.compare(pos_, t.size(), t) == 0; }
  void advance(std::size_t n) {
    line_ += static_cast<int>(std::count(s_.begin() + static_cast<std::ptrdiff_t>(pos_),
                                         s_.begin() + static_cast<std::ptrdiff_t>(pos_ + n), '\n'));
    pos_ += n;
    line_starting_ = n > 0 && s_[pos_ - 1] == '\n';
  }
  void skip_space() { advance(space_length(s_, pos_)); }

  // The text up to a tag whose control sign is known: "-" strips it, a block or comment without "+" loses its own indentation.
  void emit_data(std::size_t begin, std::size_t tag, char sign, bool is_variable) {
    std::string_view text(s_.data() + begin, tag - begin);
    if (sign == '-') {
      text = text.substr(0, end_without_space(text));
    } else if (sign != '+' && !is_variable) {
      const std::size_t newline = text.rfind('\n');
      const std::size_t from = newline == std::string_view::npos ? 0 : newline + 1;
      if ((from > 0 || line_starting_) && from < text.size() && space_length(text, from) == text.size() - from)
        text = text.substr(0, from);
    }
    if (!text.empty()) emit(Type::data, std::string(text));
  }

  char sign_at(std::size_t p) const { return p < s_.size() && (s_[p] == '-' || s_[p] == '+') ? s_[p] : '\0'; }

  void data() {
    std::size_t tag = pos_;
    for (;; ++tag) {
      tag = s_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= s_.size()) {
        emit(Type::data, s_.substr(pos_));
        advance(s_.size() - pos_);
        return;
      }
      if (s_[tag + 1] == '{' || s_[tag + 1] == '%' || s_[tag + 1] == '#') break;
    }
    const char kind = s_[tag + 1];
    const char sign = sign_at(tag + 2);
    emit_data(pos_, tag, sign, kind == '{');
    advance(tag - pos_);
    if (kind == '%' && raw_begins(sign)) return raw();
    advance(sign ? 3 : 2);
    if (kind == '#') return comment();
    emit(kind == '{' ? Type::variable_begin : Type::block_begin);
    code(kind == '{');
  }

  void comment() {
    const std::size_t end = s_.find("#}", pos_);
    if (end == std::string::npos) fail("missing end of comment tag '#}'", line_);
    const char sign = end > pos_ ? s_[end - 1] : '\0';
    advance(end + 2 - pos_);
    after_tag(sign);
  }

  // trim_blocks takes one newline; "-" all white space.
  void after_tag(char sign) {
    if (sign == '-')
      skip_space();
    else if (sign != '+' && at("\n"))
      advance(1);
  }

  bool raw_begins(char sign) {
    std::size_t p = pos_ + (sign ? 3 : 2);
    p += space_length(s_, p);
    if (s_.compare(p, 3, "raw") != 0) return false;
    p += 3;
    p += space_length(s_, p);
    const bool minus = p < s_.size() && s_[p] == '-';
    if (s_.compare(p + (minus ? 1 : 0), 2, "%}") != 0) return false;
    advance(p + (minus ? 3 : 2) - pos_);
    if (minus) skip_space();
    return true;
  }

  void raw() {
    const int begin_line = line_;
    for (std::size_t tag = s_.find("{%", pos_); tag != std::string::npos; tag = s_.find("{%", tag + 1)) {
      const char sign = sign_at(tag + 2);
      std::size_t p = tag + (sign ? 3 : 2);
      p += space_length(s_, p);
      if (s_.compare(p, 6, "endraw") != 0) continue;
      p += 6;
      p += space_length(s_, p);
      const char end_sign = sign_at(p);
      if (s_.compare(p + (end_sign ? 1 : 0), 2, "%}") != 0) continue;
      emit_data(pos_, tag, sign, false);
      advance(p + (end_sign ? 3 : 2) - pos_);
      return after_tag(end_sign);
    }
    fail("missing end of raw directive", begin_line);
  }

  void code(bool variable) {
    const int begin_line = line_;
    std::string open;
    while (true) {
      skip_space();
      if (pos_ >= s_.size())
        fail(fmt::format("the tag opened here never ends: '{}' expected", variable ? "}}" : "%}"), begin_line);
      if (open.empty() && tag_ends(variable)) return;
      const char c = s_[pos_];
      if (is_digit(c))
        number();
      else if (is_word_byte(c))
        word();
      else if (c == '\'' || c == '"')
        string(c);
      else
        op(open);
    }
  }

  bool tag_ends(bool variable) {
    const std::string_view end = variable ? "}}" : "%}";
    const char c = s_[pos_];
    const bool sign = c == '-' || (c == '+' && !variable);
    if (s_.compare(pos_ + (sign ? 1 : 0), 2, end) != 0) return false;
    emit(variable ? Type::variable_end : Type::block_end);
    advance(sign ? 3 : 2);
    if (variable) {
      if (sign) skip_space();
    } else {
      after_tag(sign ? c : '\0');
    }
    return true;
  }

  void word() {
    std::size_t end = pos_;
    while (end < s_.size() && is_word_byte(s_[end])) ++end;
    const std::string text = s_.substr(pos_, end - pos_);
    for (std::size_t p = 0; p < text.size();) {  // white space and such inside a run of non-ASCII bytes
      const char32_t ch = decode_char(text, p);
      if (ch >= 0x80 && is_space(ch)) fail("invalid character in identifier", line_);
    }
    emit(Type::name, text);
    advance(end - pos_);
  }

  std::size_t digits(std::size_t p, int base) const {
    while (p < s_.size()) {
      const char c = s_[p];
      const int v = is_digit(c)            ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
      if (v >= base && !(c == '_' && p + 1 < s_.size() && std::isxdigit(static_cast<unsigned char>(s_[p + 1])))) break;
      ++p;
    }
    return p;
  }

  void number() {
    int base = 10;
    if (s_[pos_] == '0' && pos_ + 2 < s_.size()) {
      const char x = static_cast<char>(s_[pos_ + 1] | 0x20);
      base = x == 'x' ? 16 : x == 'o' ? 8 : x == 'b' ? 2 : 10;
      if (base != 10 && digits(pos_ + 2, base) == pos_ + 2) base = 10;
    }
    std::size_t end = base == 10 ? digits(pos_, 10) : digits(pos_ + 2, base);
    bool real = false;
    const bool after_dot = pos_ > 0 && s_[pos_ - 1] == '.';
    if (base == 10 && !after_dot) {
      if (end + 1 < s_.size() && s_[end] == '.' && is_digit(s_[end + 1])) {
        real = true;
        end = digits(end + 1, 10);
      }
      std::size_t e = end;
      if (e < s_.size() && (s_[e] == 'e' || s_[e] == 'E')) {
        ++e;
        if (e < s_.size() && (s_[e] == '+' || s_[e] == '-')) ++e;
        if (e < s_.size() && is_digit(s_[e])) {
          real = true;
          end = digits(e, 10);
        }
      }
    }
    std::string text = s_.substr(pos_, end - pos_);
    std::erase(text, '_');
    if (real) {
      emit(Type::real, text, Value(std::strtod(text.c_str(), nullptr)));
    } else {
      Int value = 0;
      for (std::size_t i = base == 10 ? 0 : 2; i < text.size(); ++i) {
        const char c = text[i];
        const int digit = is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10;
        if (value > (Int{1} << 100)) fail("number too large", line_);
        value = value * base + digit;
      }
      emit(Type::integer, text, Value(value));
    }
    advance(end - pos_);
  }

  char32_t hex(std::size_t& p, int n) {
    char32_t v = 0;
    for (int i = 0; i < n; ++i, ++p) {
      if (p >= s_.size() || !std::isxdigit(static_cast<unsigned char>(s_[p])))
        fail("truncated escape in string", line_);
      const char c = s_[p];
      v = v * 16 + static_cast<char32_t>(is_digit(c) ? c - '0' : (c | 0x20) - 'a' + 10);
    }
    return v;
  }

  // One escape at s_[p] == '\\'; moves p behind it.
  void escape(std::string& out, std::size_t& p) {
    const char c = s_[++p];
    ++p;
    static constexpr std::string_view kFrom = "abfnrtv\\'\"", kTo = "\a\b\f\n\r\t\v\\'\"";
    if (const auto i = kFrom.find(c); i != std::string_view::npos) {
      out += kTo[i];
    } else if (c == '\n') {
      return;
    } else if (c >= '0' && c <= '7') {
      char32_t v = static_cast<char32_t>(c - '0');
      for (int n = 0; n < 2 && p < s_.size() && s_[p] >= '0' && s_[p] <= '7'; ++n, ++p)
        v = v * 8 + static_cast<char32_t>(s_[p] - '0');
      encode_char(out, v);
    } else if (c == 'x' || c == 'u' || c == 'U') {
      char32_t v = hex(p, c == 'x' ? 2 : c == 'u' ? 4 : 8);
      if (v >= 0xD800 && v < 0xDC00 && s_.compare(p, 2, "\\u") == 0) {
        p += 2;
        const char32_t low = hex(p, 4);
        v = low >= 0xDC00 && low < 0xE000 ? 0x10000 + ((v - 0xD800) << 10) + (low - 0xDC00) : 0xD800;
      }
      if (v > 0x10FFFF || (v >= 0xD800 && v < 0xE000)) fail("escape in string is no character", line_);
      encode_char(out, v);
    } else {
      out += '\\';
      --p;  // the character itself is ordinary
    }
  }

  void string(char quote) {
    std::string text;
    std::size_t p = pos_ + 1;
    while (true) {
      if (p >= s_.size() || (s_[p] == '\\' && p + 1 >= s_.size())) fail("string never ends", line_);
      if (s_[p] == quote) break;
      if (s_[p] == '\\')
        escape(text, p);
      else
        text += s_[p++];
    }
    emit(Type::string, std::move(text));
    advance(p + 1 - pos_);
  }

  void op(std::string& open) {
    static constexpr std::string_view kLong[] = {"//", "**", "==", "!=", ">=", "<="};
    static constexpr std::string_view kShort = "+-/*%~[](){}><=.:|,;";
    std::string text(1, s_[pos_]);
    for (std::string_view l : kLong)
      if (at(l)) text = l;
    if (text.size() == 1 && kShort.find(text[0]) == std::string_view::npos) {
      std::size_t p = pos_;
      decode_char(s_, p);
      fail(fmt::format("unexpected character '{}'", s_.substr(pos_, p - pos_)), line_);
    }
    const char c = text[0];
    if (c == '(' || c == '[' || c == '{') {
      open += c == '(' ? ')' : c == '[' ? ']' : '}';
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty()) fail(fmt::format("unexpected '{}'", c), line_);
      if (open.back() != c) fail(fmt::format("unexpected '{}', expected '{}'", c, open.back()), line_);
      open.pop_back();
    }
    emit(Type::op, text);
    advance(text.size());
  }

  std::string s_;
  std::size_t pos_ = 0;
  int line_ = 1;
  bool line_starting_ = true;
  std::vector<Token> out_;
};

}  // namespace

std::vector<Token> tokenize(std::string_view source) { return Lexer(with_unix_newlines(source)).run(); }

}  // namespace hearth::jinja
