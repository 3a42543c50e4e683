// text_filters.cpp — filters that make strings and numbers.
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>

#include "text/jinja/filters.h"
#include "text/jinja/format.h"
#include "text/jinja/ops.h"

namespace hearth::jinja {
namespace {

// ---- strings -------------------------------------------------------------------------------------------------------
Value string(Interp& in, const Value& v, Args& args) {
  const Params p(args, "string", {});
  return v.is_str() ? v : Value(to_str(v, in));
}
Value identity(Interp&, const Value& v, Args& args) {
  const Params p(args, "safe", {});
  return v;
}
template <Case how>
Value cased(Interp& in, const Value& v, Args& args) {
  const Params p(args, "case filter", {});
  return Value(change_case(to_str(v, in), how, in.budget));
}

// A word begins after white space or one of - ( { [ <.
Value title(Interp& in, const Value& v, Args& args) {
  const Params p(args, "title", {});
  const Str s = to_str(v, in);
  StrBuilder out(in.budget);
  std::size_t word = 0;
  const auto put = [&](std::size_t end) {
    if (end <= word) return;
    const std::size_t first = word + byte_of_char(std::string_view(s.text).substr(word, 4), 1);
    out.add(change_case(slice_bytes(s, word, first, in.budget), Case::upper, in.budget));
    out.add(change_case(slice_bytes(s, first, end, in.budget), Case::lower, in.budget));
  };
  for (std::size_t pos = 0; pos < s.size();) {
    const std::size_t at = pos;
    const char32_t c = decode_char(s.text, pos);
    if (!is_space(c) && c != '-' && c != '(' && c != '{' && c != '[' && c != '<') continue;
    put(at);
    out.add(s, at, pos);
    word = pos;
  }
  put(s.size());
  return Value(out.take());
}

Value trim(Interp& in, const Value& v, Args& args) {
  const Params p(args, "trim", {"chars"});
  return Value(strip(to_str(v, in), Side::both, p.text(0), in.budget));
}

Value replaced(Interp& in, const Value& v, Args& args) {
  const Params p(args, "replace", {"old", "new", "count"}, 2);
  const bool limited = p[2] && !p[2]->is_none();
  return Value(replace(to_str(v, in), to_str(p.required(0), in).text, to_str(p.required(1), in),
                       limited ? p.index(2, -1) : -1, in.budget));
}

Value format(Interp& in, const Value& v, Args& args) {
  if (!args.pos.empty() && !args.kw.empty())
    throw Error("FilterArgumentError", "can't handle positional and keyword arguments at the same time");
  if (args.kw.empty()) return format_percent(to_str(v, in), make_tuple(args.pos), in);
  Dict d;
  for (auto& [name, value] : args.kw) d.set(Value(plain(name)), value);
  return format_percent(to_str(v, in), make_dict(std::move(d)), in);
}

Value indent(Interp& in, const Value& v, Args& args) {
  const Params p(args, "indent", {"width", "first", "blank"});
  if (v.is_undefined()) fail_undefined(v);
  const Str s = concat(to_str(v, in), plain("\n"), in.budget);
  Str pad;
  if (p[0] && p[0]->is_str())
    pad = p[0]->str();
  else
    pad = repeat(plain(" "), static_cast<std::size_t>(std::max<std::int64_t>(p.index(0, 4), 0)), in.budget);
  const bool blank = p.flag(2, false);
  StrBuilder out(in.budget);
  bool first = true;
  for (const Str& line : split_lines(s, false, in.budget)) {
    if (!first) out.add("\n");
    if (first ? p.flag(1, false) : (blank || line.size() > 0)) out.add(pad);
    out.add(line);
    first = false;
  }
  return Value(out.take());
}

Value center(Interp& in, const Value& v, Args& args) {
  const Params p(args, "center", {"width"});
  const Str s = to_str(v, in);
  const auto width = static_cast<std::size_t>(std::max<std::int64_t>(p.index(0, 80), 0));
  const std::size_t n = char_count(s.text), pad = width > n ? width - n : 0, left = pad / 2 + (pad & width & 1);
  StrBuilder out(in.budget);
  out.fill(" ", left);
  out.add(s);
  out.fill(" ", pad - left);
  return Value(out.take());
}

Value truncate(Interp& in, const Value& v, Args& args) {
  const Params p(args, "truncate", {"length", "killwords", "end", "leeway"});
  const Str s = to_str(v, in), end = p[2] ? p.str(2) : plain("...");
  const std::int64_t length = p.index(0, 255), leeway = p[3] && !p[3]->is_none() ? p.index(3, 5) : 5;
  const auto end_length = static_cast<std::int64_t>(char_count(end.text));
  if (length < end_length)
    throw Error("AssertionError", fmt::format("expected length >= {}, got {}", end_length, length));
  if (static_cast<std::int64_t>(char_count(s.text)) <= length + leeway) return Value(s);
  Str kept = slice_bytes(s, 0, byte_of_char(s.text, static_cast<std::size_t>(length - end_length)), in.budget);
  if (!p.flag(1, false)) {
    const std::size_t space = kept.text.rfind(' ');
    if (space != std::string::npos) kept = slice_bytes(kept, 0, space, in.budget);
  }
  return Value(concat(kept, end, in.budget));
}

Value escape(Interp& in, const Value& v, Args& args) {
  const Params p(args, "escape", {});
  const Str s = to_str(v, in);
  StrBuilder out(in.budget);
  for (std::size_t i = 0; i < s.size(); ++i) {
    const char c = s.text[i];
    const std::string_view e = c == '&'    ? "&amp;"
                               : c == '<'  ? "&lt;"
                               : c == '>'  ? "&gt;"
                               : c == '\'' ? "&#39;"
                               : c == '"'  ? "&#34;"
                                           : "";
    if (e.empty())
      out.add(s, i, i + 1);
    else
      out.add(e, s.marked_at(i));
  }
  return Value(out.take());
}

// In a query a space is "+" and a slash is escaped.
Value urlencode_text(const Str& s, bool query, Interp& in) {
  StrBuilder out(in.budget);
  for (std::size_t i = 0; i < s.size(); ++i) {
    const auto c = static_cast<unsigned char>(s.text[i]);
    if (query && c == ' ')
      out.add("+", s.marked_at(i));
    else if (c < 0x80 &&
             (std::isalnum(c) || std::string_view("_.-~").find(static_cast<char>(c)) != std::string_view::npos ||
              (c == '/' && !query)))
      out.add(s, i, i + 1);
    else
      out.add(fmt::format("%{:02X}", c), s.marked_at(i));
  }
  return Value(out.take());
}

Value urlencode(Interp& in, const Value& v, Args& args) {
  const Params p(args, "urlencode", {});
  if (v.is_str() || !(v.is_dict() || v.is_list())) return urlencode_text(to_str(v, in), false, in);
  StrBuilder out(in.budget);
  const auto pair = [&](const Value& key, const Value& value) {
    if (out.size() > 0) out.add("&");
    out.add(urlencode_text(to_str(key, in), true, in).str());
    out.add("=");
    out.add(urlencode_text(to_str(value, in), true, in).str());
  };
  if (v.is_dict()) {
    for (const auto& [key, value] : v.dict().items) pair(key, value);
  } else {
    for (const Value& item : iterate(v, in)) {
      const std::vector<Value> kv = iterate(item, in);
      if (kv.size() != 2) throw Error("ValueError", "urlencode needs pairs");
      pair(kv[0], kv[1]);
    }
  }
  return Value(out.take());
}

Value wordcount(Interp& in, const Value& v, Args& args) {
  const Params p(args, "wordcount", {});
  const Str s = to_str(v, in);
  std::size_t n = 0;
  bool in_word = false;
  for (std::size_t pos = 0; pos < s.size();) {
    const char32_t c = decode_char(s.text, pos);
    const bool word = c >= 0x80 ? !is_space(c) : std::isalnum(static_cast<int>(c)) || c == '_';
    n += word && !in_word ? 1 : 0;
    in_word = word;
  }
  return Value::integer(n);
}

Value filesizeformat(Interp& in, const Value& v, Args& args) {
  const Params p(args, "filesizeformat", {"binary"});
  if (!v.is_number()) throw Error("TypeError", fmt::format("a number was expected, not {}", type_name(v)));
  const bool binary = p.flag(0, false);
  const double base = binary ? 1024 : 1000, bytes = v.real();
  if (bytes == 1) return Value(plain("1 Byte"));
  if (std::isinf(bytes) && bytes < 0) throw Error("OverflowError", "cannot convert float infinity to integer");
  if (bytes < base) return Value(plain(fmt::format("{:.0f} Bytes", std::trunc(bytes) + 0.0)));  // 0, not -0
  static constexpr std::string_view kUnits = "kMGTPEZY";
  double unit = base;
  for (std::size_t i = 0; i < kUnits.size(); ++i) {
    unit *= base;
    if (bytes < unit || i + 1 == kUnits.size()) {
      const char c = binary && kUnits[i] == 'k' ? 'K' : kUnits[i];
      return Value(plain(fmt::format("{:.1f} {}{}", base * bytes / unit, c, binary ? "iB" : "B")));
    }
  }
  return Value(to_str(v, in));
}

Value tojson(Interp& in, const Value& v, Args& args) {
  const Params p(args, "tojson", {"ensure_ascii", "indent", "separators", "sort_keys"});
  JsonStyle style;
  style.ensure_ascii = p.flag(0, false);
  if (p[1] && !p[1]->is_none()) {
    if (p[1]->is_str())
      style.indent = p[1]->str().text;
    else
      style.indent =
          repeat(plain(" "), static_cast<std::size_t>(std::max<std::int64_t>(p.index(1, 0), 0)), in.budget).text;
    style.item_separator = ",";
  }
  if (p[2] && !p[2]->is_none()) {
    const std::vector<Value> pair = iterate(*p[2], in);
    if (pair.size() != 2 || !pair[0].is_str() || !pair[1].is_str())
      throw Error("TypeError", "separators must be two strings");
    style.item_separator = pair[0].str().text;
    style.key_separator = pair[1].str().text;
  }
  style.sort_keys = p.flag(3, false);
  return Value(to_json(v, style, in));
}

// ---- numbers -------------------------------------------------------------------------------------------------------
std::string trimmed_number(const Value& v, Interp& in) {
  std::string s = strip(v.str(), Side::both, std::nullopt, in.budget).text;
  std::erase(s, '_');
  return s;
}

std::optional<double> parse_float(const std::string& s) {
  if (s.empty() || s.find_first_of("xXpP") != std::string::npos) return std::nullopt;
  char* end = nullptr;
  const double d = std::strtod(s.c_str(), &end);
  if (end != s.c_str() + s.size()) return std::nullopt;
  return d;
}

std::optional<Int> parse_int(std::string s, int base) {
  bool negative = false;
  std::size_t p = 0;
  if (!s.empty() && (s[0] == '+' || s[0] == '-')) negative = s[p++] == '-';
  if (s.size() > p + 2 && s[p] == '0') {
    const char x = static_cast<char>(s[p + 1] | 0x20);
    const int named = x == 'x' ? 16 : x == 'o' ? 8 : x == 'b' ? 2 : 0;
    if (named && (base == named || base == 0)) p += 2, base = named;
  }
  if (base == 0) base = 10;
  if (p >= s.size()) return std::nullopt;
  Int v = 0;
  for (; p < s.size(); ++p) {
    const char c = s[p];
    const int d = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'z' ? c - 'a' + 10
                  : c >= 'A' && c <= 'Z' ? c - 'A' + 10
                                         : 99;
    if (d >= base) return std::nullopt;
    if (__builtin_mul_overflow(v, static_cast<Int>(base), &v) || __builtin_add_overflow(v, static_cast<Int>(d), &v))
      throw Error("OverflowError", "integer is too large");
  }
  return negative ? -v : v;
}

Value whole(double d, const Value& otherwise) {
  if (!std::isfinite(d)) return otherwise;
  if (std::fabs(d) > 1e37) throw Error("OverflowError", "integer is too large");
  return Value(static_cast<Int>(d));
}

Value to_int(Interp& in, const Value& v, Args& args) {
  const Params p(args, "int", {"default", "base"});
  const Value otherwise = p[0] ? *p[0] : Value(Int{0});
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_int() || v.is_bool()) return Value(v.whole());
  if (v.is_float()) return whole(v.real(), otherwise);
  if (!v.is_str()) return otherwise;
  const std::string s = trimmed_number(v, in);
  if (const auto i = parse_int(s, static_cast<int>(std::clamp<std::int64_t>(p.index(1, 10), 0, 36)))) return Value(*i);
  const auto d = parse_float(s);
  return d ? whole(*d, otherwise) : otherwise;
}

Value to_float(Interp& in, const Value& v, Args& args) {
  const Params p(args, "float", {"default"});
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_number()) return Value(v.real());
  if (v.is_str())
    if (const auto d = parse_float(trimmed_number(v, in))) return Value(*d);
  return p[0] ? *p[0] : Value(0.0);
}

Value absolute(Interp&, const Value& v, Args& args) {
  const Params p(args, "abs", {});
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is_number()) throw Error("TypeError", fmt::format("bad operand type for abs(): '{}'", type_name(v)));
  if (v.is_float()) return Value(std::fabs(v.real()));
  return v.whole() < 0 ? negate(v) : Value(v.whole());
}

Value rounded(Interp&, const Value& v, Args& args) {
  const Params p(args, "round", {"precision", "method"});
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is_number()) throw Error("TypeError", fmt::format("type {} doesn't define __round__ method", type_name(v)));
  const std::int64_t precision = std::clamp<std::int64_t>(p.index(0, 0), -300, 300);
  const std::string_view method = p[1] ? p.str(1).view() : "common";
  if (method != "common" && method != "ceil" && method != "floor")
    throw Error("FilterArgumentError", "method must be common, ceil or floor");
  const double d = v.real(), scale = std::pow(10.0, static_cast<double>(precision));
  if (method != "common") return Value((method == "ceil" ? std::ceil(d * scale) : std::floor(d * scale)) / scale);
  if (!v.is_float() && precision >= 0) return Value(v.whole());
  if (!std::isfinite(d)) return v;
  if (precision < 0) {
    const double r = std::nearbyint(d * scale) / scale;
    return v.is_float() ? Value(r) : whole(r, v);
  }
  return Value(std::strtod(fmt::format("{:.{}f}", d, precision).c_str(), nullptr));  // half to even on the exact value
}

constexpr FilterRow kFilters[] = {
    {"string", string},
    {"safe", identity},
    {"upper", cased<Case::upper>},
    {"lower", cased<Case::lower>},
    {"capitalize", cased<Case::capitalize>},
    {"title", title},
    {"trim", trim},
    {"replace", replaced},
    {"format", format},
    {"indent", indent},
    {"center", center},
    {"truncate", truncate},
    {"escape", escape},
    {"e", escape},
    {"forceescape", escape},
    {"urlencode", urlencode},
    {"wordcount", wordcount},
    {"filesizeformat", filesizeformat},
    {"tojson", tojson},
    {"int", to_int},
    {"float", to_float},
    {"abs", absolute},
    {"round", rounded},
};

}  // namespace

std::span<const FilterRow> text_filters() { return kFilters; }

FilterFn find_filter(std::string_view name) {
  for (const auto& table : {text_filters(), sequence_filters()})
    for (const FilterRow& r : table)
      if (r.name == name) return r.fn;
  return nullptr;
}

}  // namespace hearth::jinja
