// string_methods.cpp — Python's str methods. Results keep the marks of what they are made from.
#include <fmt/format.h>
#include <utf8proc.h>

#include <algorithm>

#include "text/jinja/format.h"
#include "text/jinja/methods.h"
#include "text/jinja/ops.h"

namespace hearth::jinja {
namespace {

Value list_of(std::vector<Str> parts) {
  std::vector<Value> items;
  items.reserve(parts.size());
  for (Str& s : parts) items.emplace_back(std::move(s));
  return make_list(std::move(items));
}

// ---- case ----------------------------------------------------------------------------------------------------------
template <Case how>
Value cased(Interp& in, const Value& self, Args& args) {
  const Params p(args, "str method", {});
  return Value(change_case(self.str(), how, in.budget));
}

// ---- strip, split, join --------------------------------------------------------------------------------------------
template <Side side>
Value stripped(Interp& in, const Value& self, Args& args) {
  const Params p(args, "strip", {"chars"});
  return Value(strip(self.str(), side, p.text(0), in.budget));
}

template <bool from_right>
Value split_by(Interp& in, const Value& self, Args& args) {
  const Params p(args, from_right ? "rsplit" : "split", {"sep", "maxsplit"});
  return list_of(split(self.str(), p.text(0), p.index(1, -1), from_right, in.budget));
}

Value splitlines(Interp& in, const Value& self, Args& args) {
  const Params p(args, "splitlines", {"keepends"});
  return list_of(split_lines(self.str(), p.flag(0, false), in.budget));
}

template <bool from_right>
Value partition(Interp& in, const Value& self, Args& args) {
  const Params p(args, from_right ? "rpartition" : "partition", {"sep"}, 1);
  const Str &s = self.str(), &sep = p.str(0);
  if (sep.size() == 0) throw Error("ValueError", "empty separator");
  in.budget.scan(s.size());
  const std::size_t at = from_right ? rfind_text(s.text, sep.text, s.size(), in.budget) : find_text(s.text, sep.text);
  if (at == kNotFound)
    return from_right ? make_tuple({Value(Str{}), Value(Str{}), self}) : make_tuple({self, Value(Str{}), Value(Str{})});
  return make_tuple({Value(slice_bytes(s, 0, at, in.budget)), Value(slice_bytes(s, at, at + sep.size(), in.budget)),
                     Value(slice_bytes(s, at + sep.size(), s.size(), in.budget))});
}

Value join(Interp& in, const Value& self, Args& args) {
  const Params p(args, "join", {"iterable"}, 1);
  StrBuilder out(in.budget);
  std::size_t i = 0;
  for (const Value& v : iterate(p.required(0), in)) {
    if (!v.is_str())
      throw Error("TypeError", fmt::format("sequence item {}: expected str instance, {} found", i, type_name(v)));
    if (i++ > 0) out.add(self.str());
    out.add(v.str());
  }
  return Value(out.take());
}

Value replaced(Interp& in, const Value& self, Args& args) {
  const Params p(args, "replace", {"old", "new", "count"}, 2);
  return Value(replace(self.str(), p.str(0).text, p.str(1), p.index(2, -1), in.budget));
}

template <bool prefix>
Value removed(Interp& in, const Value& self, Args& args) {
  const Params p(args, prefix ? "removeprefix" : "removesuffix", {prefix ? "prefix" : "suffix"}, 1);
  const Str &s = self.str(), &part = p.str(0);
  if (prefix ? s.text.starts_with(part.text) : s.text.ends_with(part.text))
    return Value(prefix ? slice_bytes(s, part.size(), s.size(), in.budget)
                        : slice_bytes(s, 0, s.size() - part.size(), in.budget));
  return self;
}

// ---- search --------------------------------------------------------------------------------------------------------
// The bytes of s[start:end], as the optional arguments from the i-th on say.
Span window(const Str& s, const Params& p, std::size_t i) {
  const auto n = static_cast<std::int64_t>(char_count(s.text));
  const auto clamp = [&](std::int64_t v) { return std::clamp<std::int64_t>(v < 0 ? v + n : v, 0, n); };
  const auto at = [&](std::size_t k, std::int64_t otherwise) {
    return p[k] && !p[k]->is_none() ? clamp(as_index(*p[k], "slice")) : otherwise;
  };
  const std::size_t begin = byte_of_char(s.text, static_cast<std::size_t>(at(i, 0)));
  const std::size_t end = byte_of_char(s.text, static_cast<std::size_t>(at(i + 1, n)));
  return {begin, std::max(begin, end)};
}

template <bool at_start>
Value starts_or_ends(Interp& in, const Value& self, Args& args) {
  const Params p(args, at_start ? "startswith" : "endswith", {"prefix", "start", "end"}, 1);
  in.budget.step();
  const Span w = p[1] ? window(self.str(), p, 1) : Span{0, self.str().size()};
  const std::string_view t = std::string_view(self.str().text).substr(w.begin, w.end - w.begin);
  const auto test = [&](const Value& v) {
    if (v.is_undefined()) fail_undefined(v);
    if (!v.is_str())
      throw Error("TypeError", fmt::format("{} first arg must be str or a tuple of str, not {}",
                                           at_start ? "startswith" : "endswith", type_name(v)));
    return at_start ? t.starts_with(v.str().text) : t.ends_with(v.str().text);
  };
  const Value& what = p.required(0);
  if (what.is_list() && what.list().form == List::Form::tuple)
    return Value(std::any_of(what.list().items.begin(), what.list().items.end(), test));
  return Value(test(what));
}

Int find_char(Interp& in, const Value& self, Args& args, bool from_right, const char* name) {
  const Params p(args, name, {"sub", "start", "end"}, 1);
  const Str& s = self.str();
  in.budget.scan(s.size());
  const Span w = window(s, p, 1);
  const std::string_view t = std::string_view(s.text).substr(w.begin, w.end - w.begin);
  const std::size_t at = from_right ? rfind_text(t, p.str(0).text, t.size(), in.budget) : find_text(t, p.str(0).text);
  return at == kNotFound ? Int{-1} : static_cast<Int>(char_count(std::string_view(s.text).substr(0, w.begin + at)));
}
Value find(Interp& in, const Value& self, Args& args) { return Value(find_char(in, self, args, false, "find")); }
Value rfind(Interp& in, const Value& self, Args& args) { return Value(find_char(in, self, args, true, "rfind")); }
template <bool from_right>
Value index(Interp& in, const Value& self, Args& args) {
  const Int i = find_char(in, self, args, from_right, "index");
  if (i < 0) throw Error("ValueError", "substring not found");
  return Value(i);
}

Value count(Interp& in, const Value& self, Args& args) {
  const Params p(args, "count", {"sub", "start", "end"}, 1);
  in.budget.scan(self.str().size());
  const Span w = window(self.str(), p, 1);
  const std::string_view t = std::string_view(self.str().text).substr(w.begin, w.end - w.begin), sub = p.str(0).text;
  if (sub.empty()) return Value::integer(char_count(t) + 1);
  std::size_t n = 0;
  for (std::size_t at = find_text(t, sub); at != kNotFound; at = find_text(t, sub, at + sub.size())) ++n;
  return Value::integer(n);
}

// ---- padding -------------------------------------------------------------------------------------------------------
template <char align>
Value justified(Interp& in, const Value& self, Args& args) {
  const Params p(args, "str method", {"width", "fillchar"}, 1);
  const std::string fill = p[1] ? p.str(1).text : " ";
  if (char_count(fill) != 1) throw Error("TypeError", "The fill character must be exactly one character long");
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(p.index(0, 0), 0));
  const std::size_t n = char_count(self.str().text), pad = width > n ? width - n : 0;
  const std::size_t left = align == '<' ? 0 : align == '>' ? pad : pad / 2 + (pad & width & 1);
  StrBuilder out(in.budget);
  out.fill(fill, left);
  out.add(self.str());
  out.fill(fill, pad - left);
  return Value(out.take());
}

Value zfill(Interp& in, const Value& self, Args& args) {
  const Params p(args, "zfill", {"width"}, 1);
  const Str& s = self.str();
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(p.index(0, 0), 0));
  const std::size_t n = char_count(s.text), sign = s.text.starts_with('+') || s.text.starts_with('-') ? 1 : 0;
  StrBuilder out(in.budget);
  out.add(s, 0, sign);
  out.fill("0", width > n ? width - n : 0);
  out.add(s, sign, s.size());
  return Value(out.take());
}

Value expandtabs(Interp& in, const Value& self, Args& args) {
  const Params p(args, "expandtabs", {"tabsize"});
  const auto size = static_cast<std::size_t>(std::max<std::int64_t>(p.index(0, 8), 0));
  const Str& s = self.str();
  StrBuilder out(in.budget);
  std::size_t column = 0;
  for (std::size_t pos = 0; pos < s.size();) {
    const std::size_t at = pos;
    const char32_t c = decode_char(s.text, pos);
    if (c == '\t') {
      const std::size_t n = size ? size - column % size : 0;
      out.fill(" ", n);
      column += n;
      continue;
    }
    out.add(s, at, pos);
    column = c == '\n' || c == '\r' ? 0 : column + 1;
  }
  return Value(out.take());
}

// ---- questions -----------------------------------------------------------------------------------------------------
bool is_letter(char32_t c) {
  const auto k = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return k >= UTF8PROC_CATEGORY_LU && k <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_ND; }
bool is_superscript_digit(char32_t c) {
  return c == 0xB2 || c == 0xB3 || c == 0xB9 || c == 0x2070 || (c >= 0x2074 && c <= 0x2079) ||
         (c >= 0x2080 && c <= 0x2089);
}
bool is_digit(char32_t c) { return is_decimal(c) || is_superscript_digit(c); }
bool is_numeric(char32_t c) {
  const auto k = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return k >= UTF8PROC_CATEGORY_ND && k <= UTF8PROC_CATEGORY_NO;
}
bool is_alnum(char32_t c) { return is_letter(c) || is_numeric(c); }
bool is_lower_char(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_LL; }
bool is_upper_char(char32_t c) { return utf8proc_category(static_cast<utf8proc_int32_t>(c)) == UTF8PROC_CATEGORY_LU; }

// True for no empty string whose characters all pass.
template <bool (*test)(char32_t)>
Value all_chars(Interp& in, const Value& self, Args& args) {
  const Params p(args, "str method", {});
  const std::string_view t = self.str().text;
  in.budget.step(t.size() / 8);
  for (std::size_t pos = 0; pos < t.size();)
    if (!test(decode_char(t, pos))) return Value(false);
  return Value(!t.empty());
}

// Some cased character, and none of the other case.
template <bool (*wanted)(char32_t), bool (*other)(char32_t)>
Value one_case(Interp& in, const Value& self, Args& args) {
  const Params p(args, "str method", {});
  const std::string_view t = self.str().text;
  in.budget.step(t.size() / 8);
  bool any = false;
  for (std::size_t pos = 0; pos < t.size();) {
    const char32_t c = decode_char(t, pos);
    if (other(c)) return Value(false);
    any = any || wanted(c);
  }
  return Value(any);
}

Value istitle(Interp&, const Value& self, Args& args) {
  const Params p(args, "istitle", {});
  const std::string_view t = self.str().text;
  bool in_word = false, any = false;
  for (std::size_t pos = 0; pos < t.size();) {
    const char32_t c = decode_char(t, pos);
    if ((is_upper_char(c) && in_word) || (is_lower_char(c) && !in_word)) return Value(false);
    in_word = is_upper_char(c) || is_lower_char(c);
    any = any || in_word;
  }
  return Value(any);
}

Value isascii(Interp&, const Value& self, Args& args) {
  const Params p(args, "isascii", {});
  return Value(is_ascii(self.str().text));
}

Value isidentifier(Interp&, const Value& self, Args& args) {
  const Params p(args, "isidentifier", {});
  const std::string_view t = self.str().text;
  for (std::size_t pos = 0; pos < t.size();) {
    const bool first = pos == 0;
    const char32_t c = decode_char(t, pos);
    if (c != '_' && !is_letter(c) && (first || !is_decimal(c))) return Value(false);
  }
  return Value(!t.empty());
}

Value format(Interp& in, const Value& self, Args& args) { return Value(format_braces(self.str(), args, in)); }

constexpr Method kMethods[] = {
    {"upper", cased<Case::upper>},
    {"lower", cased<Case::lower>},
    {"casefold", cased<Case::lower>},
    {"title", cased<Case::title>},
    {"capitalize", cased<Case::capitalize>},
    {"swapcase", cased<Case::swap>},
    {"strip", stripped<Side::both>},
    {"lstrip", stripped<Side::left>},
    {"rstrip", stripped<Side::right>},
    {"split", split_by<false>},
    {"rsplit", split_by<true>},
    {"splitlines", splitlines},
    {"partition", partition<false>},
    {"rpartition", partition<true>},
    {"join", join},
    {"replace", replaced},
    {"removeprefix", removed<true>},
    {"removesuffix", removed<false>},
    {"startswith", starts_or_ends<true>},
    {"endswith", starts_or_ends<false>},
    {"find", find},
    {"rfind", rfind},
    {"index", index<false>},
    {"rindex", index<true>},
    {"count", count},
    {"center", justified<'^'>},
    {"ljust", justified<'<'>},
    {"rjust", justified<'>'>},
    {"zfill", zfill},
    {"expandtabs", expandtabs},
    {"isalpha", all_chars<is_letter>},
    {"isalnum", all_chars<is_alnum>},
    {"isdigit", all_chars<is_digit>},
    {"isdecimal", all_chars<is_decimal>},
    {"isnumeric", all_chars<is_numeric>},
    {"isspace", all_chars<is_space>},
    {"islower", one_case<is_lower_char, is_upper_char>},
    {"isupper", one_case<is_upper_char, is_lower_char>},
    {"istitle", istitle},
    {"isascii", isascii},
    {"isidentifier", isidentifier},
    {"format", format},
};

}  // namespace

std::span<const Method> string_methods() { return kMethods; }

}  // namespace hearth::jinja
