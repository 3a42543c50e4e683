// to_json.cpp — json.dumps as Python writes it: separators ", " and ": ", floats by repr, keys turned into strings.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/interp.h"
#include "text/jinja/ops.h"

namespace hearth::jinja {
namespace {

class Writer {
 public:
  Writer(const JsonStyle& style, Interp& in) : style_(style), in_(in), out_(in.budget) {}

  void put(const Value& v, std::size_t depth) {
    const Budget::Level level(in_.budget);
    in_.budget.step();
    if (v.is_str()) return string(v.str());
    if (v.is_none()) return out_.add("null");
    if (v.is_bool()) return out_.add(v.boolean() ? "true" : "false");
    if (v.is_int()) return out_.add(int_text(v.whole()));
    if (v.is_float()) return out_.add(number(v.real()));
    if (v.is_dict()) return object(v.dict(), depth);
    if (v.is_list() && (v.list().form == List::Form::list || v.list().form == List::Form::tuple))
      return array(v.list(), depth);
    throw Error("TypeError", fmt::format("Object of type {} is not JSON serializable", type_name(v)));
  }
  Str take() { return out_.take(); }

 private:
  static std::string number(double d) {
    if (std::isnan(d)) return "NaN";
    if (std::isinf(d)) return d < 0 ? "-Infinity" : "Infinity";
    return float_repr(d);
  }

  void line(std::size_t depth) {
    if (!style_.indent) return;
    out_.add("\n");
    out_.fill(*style_.indent, depth);
  }

  void array(const List& list, std::size_t depth) {
    if (list.items.empty()) return out_.add("[]");
    out_.add("[");
    bool first = true;
    for (const Value& v : list.items) {
      if (!first) out_.add(style_.item_separator);
      first = false;
      line(depth + 1);
      put(v, depth + 1);
    }
    line(depth);
    out_.add("]");
  }

  void object(const Dict& d, std::size_t depth) {
    if (d.items.empty()) return out_.add("{}");
    std::vector<const std::pair<Value, Value>*> order;
    for (const auto& item : d.items) order.push_back(&item);
    if (style_.sort_keys)
      std::stable_sort(order.begin(), order.end(),
                       [&](const auto* a, const auto* b) { return less(a->first, b->first, "<", in_.budget); });
    out_.add("{");
    bool first = true;
    for (const auto* item : order) {
      if (!first) out_.add(style_.item_separator);
      first = false;
      line(depth + 1);
      key(item->first);
      out_.add(style_.key_separator);
      put(item->second, depth + 1);
    }
    line(depth);
    out_.add("}");
  }

  void key(const Value& k) {
    if (k.is_str()) return string(k.str());
    if (!k.is_number() && !k.is_none())
      throw Error("TypeError", fmt::format("keys must be str, int, float, bool or None, not {}", type_name(k)));
    out_.add("\"");
    put(k, 0);
    out_.add("\"");
  }

  void string(const Str& s) {
    out_.add("\"");
    const std::string_view t = s.text;
    std::size_t kept = 0;  // [kept, at) goes out as it is
    for (std::size_t pos = 0; pos < t.size();) {
      const std::size_t at = pos;
      const auto byte = static_cast<unsigned char>(t[at]);
      const char32_t c = byte < 0x80 ? (++pos, byte) : decode_char(t, pos);
      std::string e;
      if (c == '"')
        e = "\\\"";
      else if (c == '\\')
        e = "\\\\";
      else if (c == '\n')
        e = "\\n";
      else if (c == '\r')
        e = "\\r";
      else if (c == '\t')
        e = "\\t";
      else if (c == '\b')
        e = "\\b";
      else if (c == '\f')
        e = "\\f";
      else if (c < 0x20)
        e = fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      else if (c >= 0x10000 && style_.ensure_ascii)
        e = fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + ((static_cast<unsigned>(c) - 0x10000) >> 10),
                        0xDC00 + ((static_cast<unsigned>(c) - 0x10000) & 0x3FF));
      else if (c >= 0x7F && style_.ensure_ascii && c != 0x7F)
        e = fmt::format("\\u{:04x}", static_cast<unsigned>(c));
      else
        continue;
      out_.add(s, kept, at);
      out_.add(e, s.marked_at(at));
      kept = pos;
    }
    out_.add(s, kept, t.size());
    out_.add("\"");
  }

  const JsonStyle& style_;
  Interp& in_;
  StrBuilder out_;
};

}  // namespace

Str to_json(const Value& v, const JsonStyle& style, Interp& in) {
  Writer w(style, in);
  w.put(v, 0);
  return w.take();
}

}  // namespace hearth::jinja
