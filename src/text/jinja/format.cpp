// format.cpp — "…" % values and "…".format(values).
#include "text/jinja/format.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/ops.h"

namespace hearth::jinja {
namespace {

struct Spec {
  std::string fill = " ";
  char align = 0, sign = 0, type = 0;
  bool alternate = false, zero = false;
  char group = 0;
  std::size_t width = 0;
  std::optional<int> precision;
};

std::size_t parse_count(std::string_view s, std::size_t& p) {
  std::size_t n = 0;
  while (p < s.size() && s[p] >= '0' && s[p] <= '9') {
    n = std::min<std::size_t>(n * 10 + static_cast<std::size_t>(s[p] - '0'), 1u << 30);
    ++p;
  }
  return n;
}

int small_precision(std::size_t n) {
  if (n > 500) throw Error("ValueError", "precision too big");
  return static_cast<int>(n);
}

std::string group_digits(const std::string& digits, char separator) {
  std::size_t whole = 0;
  while (whole < digits.size() && digits[whole] >= '0' && digits[whole] <= '9') ++whole;
  std::string out;
  for (std::size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) out += separator;
    out += digits[i];
  }
  return out + digits.substr(whole);
}

std::string in_base(Int v, unsigned base, bool upper) {  // v >= 0
  std::string out;
  do {
    const auto d = static_cast<unsigned>(v % base);
    out += static_cast<char>(d < 10 ? '0' + d : (upper ? 'A' : 'a') + d - 10);
    v /= base;
  } while (v > 0);
  std::reverse(out.begin(), out.end());
  return out;
}

// Digits of |v| without sign.
std::string float_digits(double v, char type, std::optional<int> precision, bool alternate) {
  const double a = std::fabs(v);
  if (std::isnan(a)) return "nan";
  if (std::isinf(a)) return "inf";
  const int p = precision.value_or(6);
  switch (type) {
    case 'f':
    case 'F':
      return fmt::format("{:.{}f}", a, p);
    case 'e':
      return fmt::format("{:.{}e}", a, p);
    case 'E':
      return fmt::format("{:.{}E}", a, p);
    case '%':
      return fmt::format("{:.{}f}", a * 100, p) + "%";
    case 'G':
      return fmt::format("{:.{}G}", a, std::max(p, 1));
    default:
      break;
  }
  return alternate ? fmt::format("{:#.{}g}", a, std::max(p, 1)) : fmt::format("{:.{}g}", a, std::max(p, 1));
}

void put_padded(const Str& body, std::size_t sign_length, const Spec& spec, char default_align, StrBuilder& out) {
  const std::size_t n = char_count(body.text);
  const std::size_t pad = spec.width > n ? spec.width - n : 0;
  const char align = spec.align ? spec.align : default_align;
  std::size_t left = align == '>' ? pad : align == '^' ? pad / 2 : 0;
  if (align == '=') {
    out.add(body, 0, sign_length);
    out.fill(spec.fill, pad);
    out.add(body, sign_length, body.size());
    return;
  }
  out.fill(spec.fill, left);
  out.add(body);
  out.fill(spec.fill, pad - left);
}

void put_number(const Value& v, Spec spec, StrBuilder& out) {
  std::string sign, digits;
  const bool is_float =
      v.is_float() || std::string_view("eEfFgG%").find(spec.type ? spec.type : 'd') != std::string_view::npos;
  if (is_float) {
    const double d = v.real();
    if (std::signbit(d)) sign = "-";
    if (spec.type == 0 && !spec.precision)
      digits = float_repr(std::fabs(d));
    else
      digits = float_digits(d, spec.type ? spec.type : 'g', spec.precision, spec.alternate);
  } else {
    const Int i = v.whole();
    if (i < 0) sign = "-";
    const Int a = i < 0 ? -i : i;
    switch (spec.type) {
      case 'x':
      case 'X':
        digits = in_base(a, 16, spec.type == 'X');
        break;
      case 'o':
        digits = in_base(a, 8, false);
        break;
      case 'b':
        digits = in_base(a, 2, false);
        break;
      default:
        digits = int_text(a);
    }
    if (spec.alternate && spec.type && spec.type != 'd') sign += std::string("0") + spec.type;
  }
  if (spec.group) digits = group_digits(digits, spec.group);
  if ((spec.sign == '+' || spec.sign == ' ') && !sign.starts_with('-')) sign = spec.sign + sign;
  if (spec.zero && !spec.align) {
    spec.align = '=';
    spec.fill = "0";
  }
  put_padded(plain(sign + digits), sign.size(), spec, '>', out);
}

// ---- str.format ----------------------------------------------------------------------------------------------------
Spec parse_spec(std::string_view s) {
  Spec spec;
  std::size_t p = 0;
  const auto is_align = [](char c) { return c == '<' || c == '>' || c == '^' || c == '='; };
  if (!s.empty()) {
    const std::size_t first = byte_of_char(s, 1);
    if (first < s.size() && is_align(s[first])) {
      spec.fill = std::string(s.substr(0, first));
      spec.align = s[first];
      p = first + 1;
    } else if (is_align(s[0])) {
      spec.align = s[p++];
    }
  }
  if (p < s.size() && (s[p] == '+' || s[p] == '-' || s[p] == ' ')) spec.sign = s[p++];
  if (p < s.size() && s[p] == '#') spec.alternate = true, ++p;
  if (p < s.size() && s[p] == '0') spec.zero = true, ++p;
  spec.width = parse_count(s, p);
  if (p < s.size() && (s[p] == ',' || s[p] == '_')) spec.group = s[p++];
  if (p < s.size() && s[p] == '.') {
    const std::size_t before = ++p;
    spec.precision = small_precision(parse_count(s, p));
    if (p == before) throw Error("ValueError", "Format specifier missing precision");
  }
  if (p < s.size()) spec.type = s[p++];
  if (p < s.size()) throw Error("ValueError", fmt::format("Invalid format specifier '{}'", s));
  return spec;
}

void put_formatted(const Value& v, std::string_view text, StrBuilder& out, Interp& in) {
  if (text.empty()) return out.add(to_str(v, in));
  Spec spec = parse_spec(text);
  const auto unknown = [&] {
    throw Error("ValueError", fmt::format("Unknown format code '{}' for object of type '{}'", spec.type, type_name(v)));
  };
  if (v.is_str()) {
    if (spec.type && spec.type != 's') unknown();
    Str s = v.str();
    if (spec.precision)
      s = slice_bytes(s, 0, byte_of_char(s.text, static_cast<std::size_t>(*spec.precision)), in.budget);
    if (spec.zero && !spec.align) spec.align = '<', spec.fill = "0";
    return put_padded(s, 0, spec, '<', out);
  }
  if (!v.is_number())
    throw Error("TypeError", fmt::format("unsupported format string passed to {}.__format__", type_name(v)));
  if (spec.type && std::string_view("bcdeEfFgGnoxX%").find(spec.type) == std::string_view::npos) unknown();
  if (v.is_float() && spec.type && std::string_view("bcdoxX").find(spec.type) != std::string_view::npos) unknown();
  if (spec.type == 'c') throw Error("ValueError", "format code 'c' is not supported");
  put_number(v, spec, out);
}

class Formatter {
 public:
  Formatter(const Args& args, Interp& in) : args_(args), in_(in) {}

  void run(const Str& format, StrBuilder& out, int depth) {
    const std::string_view t = format.text;
    std::size_t kept = 0;
    for (std::size_t p = 0; p < t.size();) {
      if (t[p] != '{' && t[p] != '}') {
        ++p;
        continue;
      }
      out.add(format, kept, p);
      if (p + 1 < t.size() && t[p + 1] == t[p]) {
        out.add(format, p, p + 1);
        p += 2;
      } else if (t[p] == '}') {
        throw Error("ValueError", "Single '}' encountered in format string");
      } else {
        p = field(t, p + 1, out, depth);
      }
      kept = p;
    }
    out.add(format, kept, t.size());
  }

 private:
  std::size_t field(std::string_view t, std::size_t p, StrBuilder& out, int depth) {
    std::size_t end = p;
    for (int open = 1; open > 0; ++end) {
      if (end >= t.size()) throw Error("ValueError", "expected '}' before end of string");
      if (t[end] == '{') ++open;
      if (t[end] == '}') --open;
    }
    std::string_view body = t.substr(p, end - 1 - p);
    std::string_view spec;
    if (const auto colon = body.find(':'); colon != std::string_view::npos) {
      spec = body.substr(colon + 1);
      body = body.substr(0, colon);
    }
    char conversion = 0;
    if (const auto mark = body.find('!'); mark != std::string_view::npos) {
      if (mark + 2 != body.size()) throw Error("ValueError", "expected ':' after conversion specifier");
      conversion = body[mark + 1];
      body = body.substr(0, mark);
    }
    Value v = resolve(body);
    if (conversion == 'r' || conversion == 'a')
      v = Value(repr(v, in_));
    else if (conversion == 's')
      v = Value(to_str(v, in_));
    else if (conversion)
      throw Error("ValueError", fmt::format("Unknown conversion specifier '{}'", conversion));
    StrBuilder filled(in_.budget);
    if (spec.find('{') != std::string_view::npos) {
      if (depth > 1) throw Error("ValueError", "Max string recursion exceeded");
      run(plain(spec), filled, depth + 1);
    } else {
      filled.add(spec);
    }
    put_formatted(v, filled.view().text, out, in_);
    return end;
  }

  Value resolve(std::string_view name) {
    const std::size_t head = std::min(name.find_first_of(".["), name.size());
    const std::string_view first = name.substr(0, head);
    Value v;
    if (first.empty())
      v = positional(next_++);
    else if (std::all_of(first.begin(), first.end(), [](char c) { return c >= '0' && c <= '9'; })) {
      std::size_t p = 0;
      v = positional(parse_count(first, p));
    } else {
      const auto it = std::find_if(args_.kw.begin(), args_.kw.end(), [&](const auto& kw) { return kw.first == first; });
      if (it == args_.kw.end()) throw Error("KeyError", fmt::format("'{}'", first));
      v = it->second;
    }
    std::size_t p = head;
    while (p < name.size()) {
      const bool item = name[p] == '[';
      const std::size_t end = item ? name.find(']', p) : std::min(name.find_first_of(".[", p + 1), name.size());
      if (end == std::string_view::npos) throw Error("ValueError", "Missing ']' in format string");
      const std::string_view part = name.substr(p + 1, end - p - 1);
      if (part.empty()) throw Error("ValueError", "Empty attribute in format string");
      std::size_t q = 0;
      const std::size_t number = parse_count(part, q);
      if (!item)
        v = get_attribute(v, part, in_);
      else
        v = get_item(v, q == part.size() ? Value::integer(number) : Value(plain(part)), in_);
      p = item ? end + 1 : end;
    }
    return v;
  }

  Value positional(std::size_t i) const {
    if (i >= args_.pos.size())
      throw Error("IndexError", fmt::format("Replacement index {} out of range for positional args tuple", i));
    return args_.pos[i];
  }

  const Args& args_;
  Interp& in_;
  std::size_t next_ = 0;
};

}  // namespace

Str format_braces(const Str& format, const Args& args, Interp& in) {
  StrBuilder out(in.budget);
  Formatter(args, in).run(format, out, 1);
  return out.take();
}

// ---- % -------------------------------------------------------------------------------------------------------------
Value format_percent(const Str& format, const Value& args, Interp& in) {
  StrBuilder out(in.budget);
  const std::string_view t = format.text;
  const bool tuple = args.is_list() && args.list().form == List::Form::tuple;
  std::size_t next = 0;
  const auto take = [&]() -> Value {
    if (tuple) {
      if (next < args.list().items.size()) return args.list().items[next++];
    } else if (next++ == 0) {
      return args;
    }
    throw Error("TypeError", "not enough arguments for format string");
  };
  std::size_t kept = 0;
  bool named = false;
  for (std::size_t p = t.find('%'); p != std::string_view::npos; p = t.find('%', p)) {
    out.add(format, kept, p);
    ++p;
    std::optional<Value> value;
    if (p < t.size() && t[p] == '(') {
      const std::size_t end = t.find(')', p);
      if (end == std::string_view::npos) throw Error("ValueError", "incomplete format key");
      if (!args.is_dict()) throw Error("TypeError", "format requires a mapping");
      const Value* v = args.dict().find(t.substr(p + 1, end - p - 1));
      if (!v) throw Error("KeyError", fmt::format("'{}'", t.substr(p + 1, end - p - 1)));
      value = *v;
      named = true;
      p = end + 1;
    }
    Spec spec;
    for (; p < t.size() && std::string_view("-+ #0").find(t[p]) != std::string_view::npos; ++p) {
      if (t[p] == '-')
        spec.align = '<';
      else if (t[p] == '+')
        spec.sign = '+';
      else if (t[p] == ' ' && !spec.sign)
        spec.sign = ' ';
      else if (t[p] == '#')
        spec.alternate = true;
      else if (t[p] == '0')
        spec.zero = true;
    }
    const auto count = [&]() -> std::int64_t {
      if (p < t.size() && t[p] == '*') {
        ++p;
        return as_index(take(), "*");
      }
      return static_cast<std::int64_t>(parse_count(t, p));
    };
    const std::int64_t width = count();
    if (width < 0) spec.align = '<';
    spec.width = static_cast<std::size_t>(width < 0 ? -width : width);
    if (p < t.size() && t[p] == '.') {
      ++p;
      spec.precision = small_precision(static_cast<std::size_t>(std::max<std::int64_t>(count(), 0)));
    }
    while (p < t.size() && (t[p] == 'h' || t[p] == 'l' || t[p] == 'L')) ++p;
    if (p >= t.size()) throw Error("ValueError", "incomplete format");
    const char type = t[p++];
    kept = p;
    if (type == '%') {
      out.add("%");
      continue;
    }
    const Value v = value ? *value : take();
    if (type == 's' || type == 'r' || type == 'a') {
      Str s = type == 's' ? to_str(v, in) : repr(v, in);
      if (spec.precision)
        s = slice_bytes(s, 0, byte_of_char(s.text, static_cast<std::size_t>(*spec.precision)), in.budget);
      spec.zero = false;
      put_padded(s, 0, spec, '>', out);
    } else if (std::string_view("diuxXofFeEgG").find(type) != std::string_view::npos) {
      if (v.is_undefined()) fail_undefined(v);
      if (!v.is_number())
        throw Error("TypeError", fmt::format("%{} format: a real number is required, not {}", type, type_name(v)));
      const bool whole = std::string_view("diuxXo").find(type) != std::string_view::npos;
      if (v.is_float() && std::string_view("xXo").find(type) != std::string_view::npos)
        throw Error("TypeError", fmt::format("%{} format: an integer is required, not float", type));
      if (whole && v.is_float() && !(std::fabs(v.real()) < 1e30))
        throw Error("OverflowError", "cannot convert float to integer");
      spec.type = type == 'i' || type == 'u' ? 'd' : type;
      if (whole) spec.precision.reset();
      put_number(whole && v.is_float() ? Value(static_cast<Int>(v.real())) : v, spec, out);
    } else if (type == 'c') {
      if (v.is_str() && char_count(v.str().text) == 1)
        out.add(v.str());
      else
        throw Error("TypeError", "%c requires a single character");
    } else {
      throw Error("ValueError", fmt::format("unsupported format character '{}'", type));
    }
  }
  out.add(format, kept, t.size());
  if (!named && !args.is_dict() && (tuple || !args.is_list()) && (tuple ? next < args.list().items.size() : next == 0))
    throw Error("TypeError", "not all arguments converted during string formatting");
  return Value(out.take());
}

}  // namespace hearth::jinja
