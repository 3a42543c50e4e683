// print.cpp — values as text: Python's str() and repr().
#include <fmt/format.h>
#include <utf8proc.h>

#include <charconv>
#include <cmath>

#include "text/jinja/interp.h"
#include "text/jinja/ops.h"

namespace hearth::jinja {

std::string int_text(Int i) { return fmt::format("{}", i); }

// Shortest digits that read back the same; exponent form below 1e-4 and from 1e16 on.
std::string float_repr(double d) {
  if (std::isnan(d)) return "nan";
  if (std::isinf(d)) return d < 0 ? "-inf" : "inf";
  char buf[32];
  const auto [end, ec] = std::to_chars(buf, buf + sizeof buf, std::fabs(d), std::chars_format::scientific);
  const std::string_view s(buf, static_cast<std::size_t>(end - buf));
  const std::size_t e = s.find('e');
  int exponent = 0;
  std::from_chars(s.data() + e + (s[e + 1] == '+' ? 2 : 1), s.data() + s.size(), exponent);
  std::string digits(1, s[0]);
  if (e > 2) digits += s.substr(2, e - 2);
  std::string out = std::signbit(d) ? "-" : "";
  if (exponent < -4 || exponent >= 16) {
    out += digits[0];
    if (digits.size() > 1) out += "." + digits.substr(1);
    return out + fmt::format("e{}{:02}", exponent < 0 ? '-' : '+', std::abs(exponent));
  }
  if (exponent < 0) return out + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
  const auto whole = static_cast<std::size_t>(exponent) + 1;
  if (digits.size() <= whole) return out + digits + std::string(whole - digits.size(), '0') + ".0";
  return out + digits.substr(0, whole) + "." + digits.substr(whole);
}

namespace {

bool printable(char32_t c) {
  if (c < 0x7F) return c >= 0x20;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

void repr_str(const Str& s, StrBuilder& out) {
  const std::string_view t = s.text;
  const char quote = t.find('\'') != std::string_view::npos && t.find('"') == std::string_view::npos ? '"' : '\'';
  out.add(std::string_view(&quote, 1));
  for (std::size_t pos = 0; pos < t.size();) {
    const std::size_t at = pos;
    const char32_t c = decode_char(t, pos);
    const auto escape = [&](const std::string& e) { out.add(e, s.marked_at(at)); };
    if (c == '\\')
      escape("\\\\");
    else if (c == static_cast<char32_t>(quote))
      escape(std::string("\\") + quote);
    else if (c == '\n')
      escape("\\n");
    else if (c == '\r')
      escape("\\r");
    else if (c == '\t')
      escape("\\t");
    else if (printable(c))
      out.add(s, at, pos);
    else if (c < 0x100)
      escape(fmt::format("\\x{:02x}", static_cast<unsigned>(c)));
    else if (c < 0x10000)
      escape(fmt::format("\\u{:04x}", static_cast<unsigned>(c)));
    else
      escape(fmt::format("\\U{:08x}", static_cast<unsigned>(c)));
  }
  out.add(std::string_view(&quote, 1));
}

void put_repr(const Value& v, StrBuilder& out, Interp& in);

void repr_list(const List& list, StrBuilder& out, Interp& in) {
  using Form = List::Form;
  if (list.form == Form::iterator) return out.add("<generator object>");
  if (list.form == Form::range) return out.add(list.name);
  const bool tuple = list.form == Form::tuple;
  if (list.form == Form::view) out.add(list.name + "(");
  out.add(tuple ? "(" : "[");
  bool first = true;
  for (const Value& v : list.items) {
    if (!first) out.add(", ");
    first = false;
    put_repr(v, out, in);
  }
  if (tuple && list.items.size() == 1) out.add(",");
  out.add(tuple ? ")" : "]");
  if (list.form == Form::view) out.add(")");
}

void put_repr(const Value& v, StrBuilder& out, Interp& in) {
  const Budget::Level level(in.budget);
  in.budget.step();
  if (v.is_str()) return repr_str(v.str(), out);
  if (v.is_list()) return repr_list(v.list(), out, in);
  if (v.is_dict()) {
    out.add("{");
    bool first = true;
    for (const auto& [key, value] : v.dict().items) {
      if (!first) out.add(", ");
      first = false;
      put_repr(key, out, in);
      out.add(": ");
      put_repr(value, out, in);
    }
    return out.add("}");
  }
  if (v.is_undefined()) return out.add("Undefined");
  out.add(to_str(v, in));
}

}  // namespace

Str repr(const Value& v, Interp& in) {
  StrBuilder out(in.budget);
  put_repr(v, out, in);
  return out.take();
}

Str to_str(const Value& v, Interp& in) {
  if (v.is_str()) return v.str();
  if (v.is_undefined()) return {};
  if (v.is_none()) return plain("None");
  if (v.is_bool()) return plain(v.boolean() ? "True" : "False");
  if (v.is_int()) return plain(int_text(v.whole()));
  if (v.is_float()) return plain(float_repr(v.real()));
  if (v.is_object()) return v.object().repr(in);
  return repr(v, in);
}

}  // namespace hearth::jinja
