#include "text/jinja/str.h"

#include <utf8proc.h>

#include <algorithm>
#include <cstring>

namespace hearth::jinja {

bool Str::marked_at(std::size_t i) const {
  auto it = std::upper_bound(marks.begin(), marks.end(), i, [](std::size_t v, const Span& s) { return v < s.end; });
  return it != marks.end() && it->begin <= i;
}

Str plain(std::string_view text) { return {std::string(text), {}}; }
Str marked(std::string_view text) {
  Str s{std::string(text), {}};
  if (!text.empty()) s.marks.push_back({0, text.size()});
  return s;
}

// ---- building ------------------------------------------------------------------------------------------------------
void StrBuilder::mark(std::size_t begin, std::size_t end) {
  if (begin == end) return;
  if (!out_.marks.empty() && out_.marks.back().end == begin)
    out_.marks.back().end = end;
  else
    out_.marks.push_back({begin, end});
}

void StrBuilder::add(std::string_view text, bool is_marked) {
  budget_.bytes(text.size());
  const std::size_t at = out_.text.size();
  out_.text.append(text);
  if (is_marked) mark(at, at + text.size());
}

void StrBuilder::add(const Str& s, std::size_t begin, std::size_t end) {
  if (begin >= end) return;
  budget_.bytes(end - begin);
  const std::size_t at = out_.text.size();
  out_.text.append(s.text, begin, end - begin);
  auto it =
      std::upper_bound(s.marks.begin(), s.marks.end(), begin, [](std::size_t v, const Span& m) { return v < m.end; });
  for (; it != s.marks.end() && it->begin < end; ++it)
    mark(at + std::max(it->begin, begin) - begin, at + std::min(it->end, end) - begin);
}

void StrBuilder::fill(std::string_view unit, std::size_t times) {
  if (unit.empty() || times == 0) return;
  if (times > (std::size_t{1} << 40)) times = std::size_t{1} << 40;  // refused by the budget below
  budget_.bytes(unit.size() * times);
  for (std::size_t i = 0; i < times; ++i) out_.text.append(unit);
}

Str slice_bytes(const Str& s, std::size_t begin, std::size_t end, Budget& b) {
  StrBuilder out(b);
  out.add(s, begin, end);
  return out.take();
}

Str concat(const Str& a, const Str& c, Budget& b) {
  StrBuilder out(b);
  out.add(a);
  out.add(c);
  return out.take();
}

Str repeat(const Str& s, std::size_t times, Budget& b) {
  StrBuilder out(b);
  if (s.size() == 0) return out.take();
  for (std::size_t i = 0; i < times; ++i) {
    b.step();
    out.add(s);
  }
  return out.take();
}

// ---- characters ----------------------------------------------------------------------------------------------------
bool is_ascii(std::string_view s) {
  return std::all_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

std::size_t char_count(std::string_view s) {
  return static_cast<std::size_t>(
      std::count_if(s.begin(), s.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::size_t byte_of_char(std::string_view s, std::size_t chars) {
  std::size_t i = 0;
  while (i < s.size() && chars > 0) {
    ++i;
    while (i < s.size() && (static_cast<unsigned char>(s[i]) & 0xC0) == 0x80) ++i;
    --chars;
  }
  return i;
}

char32_t decode_char(std::string_view s, std::size_t& pos) {
  utf8proc_int32_t c = 0;
  const utf8proc_ssize_t n =
      utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(s.data() + pos),
                       static_cast<utf8proc_ssize_t>(std::min<std::size_t>(s.size() - pos, 4)), &c);
  if (n <= 0) {
    ++pos;
    return 0xFFFD;
  }
  pos += static_cast<std::size_t>(n);
  return static_cast<char32_t>(c);
}

void encode_char(std::string& out, char32_t c) {
  utf8proc_uint8_t buf[4];
  const utf8proc_ssize_t n = utf8proc_encode_char(static_cast<utf8proc_int32_t>(c), buf);
  out.append(reinterpret_cast<const char*>(buf), static_cast<std::size_t>(n));
}

bool valid_utf8(std::string_view s) {
  std::size_t pos = 0;
  while (pos < s.size()) {
    utf8proc_int32_t c = 0;
    const utf8proc_ssize_t n = utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(s.data() + pos),
                                                static_cast<utf8proc_ssize_t>(s.size() - pos), &c);
    if (n <= 0) return false;
    pos += static_cast<std::size_t>(n);
  }
  return true;
}

bool is_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

// ---- search --------------------------------------------------------------------------------------------------------
std::size_t find_text(std::string_view text, std::string_view needle, std::size_t from) {
  if (from > text.size()) return kNotFound;
  if (needle.empty()) return from;
  const void* at =
      memmem(text.data() + from, text.size() - from, needle.data(), needle.size());  // two-way search in glibc
  return at ? static_cast<std::size_t>(static_cast<const char*>(at) - text.data()) : kNotFound;
}

std::size_t rfind_text(std::string_view text, std::string_view needle, std::size_t end, Budget& b) {
  if (needle.size() > end) return kNotFound;
  const std::size_t at = text.rfind(needle, end - needle.size());
  const std::size_t seen = at == kNotFound ? end : end - at;
  b.step(seen / 64 * std::min<std::size_t>(needle.size(), 4096) / 4);
  return at;
}

// ---- strip, split --------------------------------------------------------------------------------------------------
namespace {

std::size_t char_start_before(std::string_view s, std::size_t end) {
  std::size_t i = end - 1;
  while (i > 0 && (static_cast<unsigned char>(s[i]) & 0xC0) == 0x80) --i;
  return i;
}

std::vector<char32_t> chars_of(std::string_view s) {
  std::vector<char32_t> out;
  for (std::size_t i = 0; i < s.size();) out.push_back(decode_char(s, i));
  std::sort(out.begin(), out.end());
  return out;
}

bool is_line_end(char32_t c) {
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 || c == 0x2029;
}

std::vector<Str> split_space(const Str& s, std::int64_t max, bool from_right, Budget& b) {
  std::vector<Span> words;
  const std::string_view t = s.text;
  std::size_t word = 0, pos = 0;
  bool in_word = false;
  while (pos < t.size()) {
    const std::size_t at = pos;
    const bool space = is_space(decode_char(t, pos));
    if (space && in_word) {
      words.push_back({word, at});
      in_word = false;
    } else if (!space && !in_word) {
      word = at;
      in_word = true;
    }
  }
  if (in_word) words.push_back({word, t.size()});
  if (max >= 0 && static_cast<std::int64_t>(words.size()) > max + 1) {
    const std::size_t keep = static_cast<std::size_t>(max);
    if (from_right) {  // the rest is everything up to the last of the first words
      const std::size_t first = words.size() - keep;
      words[first - 1].begin = 0;
      words.erase(words.begin(), words.begin() + static_cast<std::ptrdiff_t>(first - 1));
    } else {
      words[keep].end = t.size();  // the rest keeps its trailing white space
      words.resize(keep + 1);
    }
  }
  b.values(words.size());
  std::vector<Str> out;
  out.reserve(words.size());
  for (const Span& w : words) out.push_back(slice_bytes(s, w.begin, w.end, b));
  return out;
}

}  // namespace

Str strip(const Str& s, Side side, std::optional<std::string_view> chars, Budget& b) {
  b.scan(s.size());
  const std::vector<char32_t> set = chars ? chars_of(*chars) : std::vector<char32_t>{};
  const auto gone = [&](char32_t c) { return chars ? std::binary_search(set.begin(), set.end(), c) : is_space(c); };
  const std::string_view t = s.text;
  std::size_t begin = 0, end = t.size();
  if (side != Side::right)
    while (begin < end) {
      std::size_t next = begin;
      if (!gone(decode_char(t, next))) break;
      begin = next;
    }
  if (side != Side::left)
    while (end > begin) {
      const std::size_t at = char_start_before(t, end);
      std::size_t p = at;
      if (!gone(decode_char(t, p))) break;
      end = at;
    }
  return slice_bytes(s, begin, end, b);
}

std::vector<Str> split(const Str& s, std::optional<std::string_view> sep, std::int64_t max, bool from_right,
                       Budget& b) {
  b.scan(s.size());
  if (!sep) return split_space(s, max, from_right, b);
  if (sep->empty()) throw Error("ValueError", "empty separator");
  std::vector<Str> out;
  const std::string_view t = s.text;
  if (from_right) {
    std::size_t end = t.size();
    while (max < 0 || static_cast<std::int64_t>(out.size()) < max) {
      const std::size_t at = rfind_text(t, *sep, end, b);
      if (at == kNotFound) break;
      b.values(1);
      out.push_back(slice_bytes(s, at + sep->size(), end, b));
      end = at;
    }
    out.push_back(slice_bytes(s, 0, end, b));
    std::reverse(out.begin(), out.end());
    return out;
  }
  std::size_t begin = 0;
  while (max < 0 || static_cast<std::int64_t>(out.size()) < max) {
    const std::size_t at = find_text(t, *sep, begin);
    if (at == kNotFound) break;
    b.values(1);
    out.push_back(slice_bytes(s, begin, at, b));
    begin = at + sep->size();
  }
  out.push_back(slice_bytes(s, begin, t.size(), b));
  return out;
}

std::vector<Str> split_lines(const Str& s, bool keep_ends, Budget& b) {
  b.scan(s.size());
  std::vector<Str> out;
  const std::string_view t = s.text;
  std::size_t begin = 0, pos = 0;
  while (pos < t.size()) {
    const std::size_t at = pos;
    const char32_t c = decode_char(t, pos);
    if (!is_line_end(c)) continue;
    if (c == '\r' && pos < t.size() && t[pos] == '\n') ++pos;
    b.values(1);
    out.push_back(slice_bytes(s, begin, keep_ends ? pos : at, b));
    begin = pos;
  }
  if (begin < t.size()) out.push_back(slice_bytes(s, begin, t.size(), b));
  return out;
}

Str replace(const Str& s, std::string_view from, const Str& to, std::int64_t max, Budget& b) {
  b.scan(s.size());
  StrBuilder out(b);
  const std::string_view t = s.text;
  std::int64_t done = 0;
  std::size_t begin = 0;
  if (from.empty()) {  // before each character and at the end
    while (max < 0 || done < max) {
      b.step();
      out.add(to);
      ++done;
      if (begin >= t.size()) return out.take();
      std::size_t next = begin;
      decode_char(t, next);
      out.add(s, begin, next);
      begin = next;
    }
  } else {
    while (max < 0 || done < max) {
      const std::size_t at = find_text(t, from, begin);
      if (at == kNotFound) break;
      b.step();
      out.add(s, begin, at);
      out.add(to);
      begin = at + from.size();
      ++done;
    }
  }
  out.add(s, begin, t.size());
  return out.take();
}

// ---- case ----------------------------------------------------------------------------------------------------------
namespace {

bool is_cased(char32_t c) {
  const auto cat = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return cat == UTF8PROC_CATEGORY_LU || cat == UTF8PROC_CATEGORY_LL || cat == UTF8PROC_CATEGORY_LT;
}
bool is_upper_char(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_LU; }

// Characters whose upper case is more than one character (Unicode's SpecialCasing, those of Latin text).
struct Expanded {
  char32_t c;
  const char *upper, *title;
};
constexpr Expanded kExpanded[] = {{0xDF, "SS", "Ss"},     {0x149, "\u02BCN", "\u02BCN"}, {0x1F0, "J\u030C", "J\u030C"},
                                  {0xFB00, "FF", "Ff"},   {0xFB01, "FI", "Fi"},          {0xFB02, "FL", "Fl"},
                                  {0xFB03, "FFI", "Ffi"}, {0xFB04, "FFL", "Ffl"},        {0xFB05, "ST", "St"},
                                  {0xFB06, "ST", "St"}};

void put_upper(std::string& out, char32_t c, bool title) {
  for (const Expanded& e : kExpanded)
    if (e.c == c) {
      out += title ? e.title : e.upper;
      return;
    }
  encode_char(out, static_cast<char32_t>(title ? utf8proc_totitle(static_cast<utf8proc_int32_t>(c))
                                               : utf8proc_toupper(static_cast<utf8proc_int32_t>(c))));
}
void put_lower(std::string& out, char32_t c) {
  if (c == 0x130) {
    out += "i\xCC\x87";
    return;
  }
  encode_char(out, static_cast<char32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(c))));
}

}  // namespace

Str change_case(const Str& s, Case how, Budget& b) {
  b.step(s.size() / 2);
  StrBuilder out(b);
  const std::string_view t = s.text;
  bool in_word = false;
  std::string one;
  for (std::size_t pos = 0; pos < t.size();) {
    const std::size_t at = pos;
    const char32_t c = decode_char(t, pos);
    one.clear();
    switch (how) {
      case Case::upper:
        put_upper(one, c, false);
        break;
      case Case::lower:
        put_lower(one, c);
        break;
      case Case::swap:
        is_upper_char(c) ? put_lower(one, c) : put_upper(one, c, false);
        break;
      case Case::capitalize:
        at == 0 ? put_upper(one, c, true) : put_lower(one, c);
        break;
      case Case::title:
        in_word ? put_lower(one, c) : put_upper(one, c, true);
        break;
    }
    if (c == 0x3A3 && in_word && one == "\u03C3") {  // a sigma that ends its word
      std::size_t next = pos;
      if (pos >= t.size() || !is_cased(decode_char(t, next))) one = "\u03C2";
    }
    in_word = is_cased(c);
    out.add(one, s.marked_at(at));
  }
  return out.take();
}

}  // namespace hearth::jinja
