// access.cpp — attributes, items, slices, iteration.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/interp.h"
#include "text/jinja/ops.h"

namespace hearth::jinja {
namespace {

Value missing(const Value& v, std::string_view name) {
  if (v.is_none()) return Value::undefined(fmt::format("'None' has no attribute '{}'", name));
  return Value::undefined(fmt::format("'{} object' has no attribute '{}'", type_name(v), name));
}

std::optional<Value> own_attribute(const Value& v, std::string_view name, Interp& in) {
  if (name.starts_with("__"))
    return Value::undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(v)),
                            "SecurityError");
  if (v.is_object()) return v.object().attribute(name, in);
  if (v.is_list() && v.list().fields) {
    const auto& fields = *v.list().fields;
    const auto it = std::find(fields.begin(), fields.end(), name);
    if (it != fields.end()) return v.list().items[static_cast<std::size_t>(it - fields.begin())];
  }
  return find_method(v, name);
}

struct Range {
  std::int64_t start, stop, step;
};

// What Python refuses to slice is undefined for Jinja's sandbox, like any item that is not there.
Value no_slice(const Value& v) {
  return Value::undefined(fmt::format("{} has no such slice", v.is_none() ? "None" : type_name(v) + " object"));
}
bool is_bound(const Value& v) { return v.is_none() || v.is_int() || v.is_bool(); }

// As slice.indices(length) does.
Range slice_range(const Value& start, const Value& stop, const Value& step, std::int64_t n) {
  const auto bound = [](const Value& v) { return as_index(v, "slice"); };
  Range r{0, n, step.is_none() ? 1 : bound(step)};
  if (r.step == 0) throw Error("ValueError", "slice step cannot be zero");
  const bool back = r.step < 0;
  const auto clamp = [&](std::int64_t i) {
    if (i < 0) return std::max<std::int64_t>(i + n, back ? -1 : 0);
    return std::min(i, back ? n - 1 : n);
  };
  r.start = start.is_none() ? (back ? n - 1 : 0) : clamp(bound(start));
  r.stop = stop.is_none() ? (back ? -1 : n) : clamp(bound(stop));
  return r;
}

template <class F>
void for_range(const Range& r, F&& f) {
  const std::int64_t distance = r.step > 0 ? r.stop - r.start : r.start - r.stop;
  if (distance <= 0) return;
  const std::int64_t stride = r.step > 0 ? r.step : (r.step < -distance ? distance : -r.step);
  const std::int64_t count = (distance - 1) / stride + 1;
  for (std::int64_t k = 0, i = r.start; k < count; ++k, i += k < count ? r.step : 0) f(static_cast<std::size_t>(i));
}

Value slice_str(const Str& s, const Value& start, const Value& stop, const Value& step, Interp& in) {
  in.budget.scan(s.size());
  const bool ascii = is_ascii(s.text);
  const auto n = static_cast<std::int64_t>(ascii ? s.size() : char_count(s.text));
  const Range r = slice_range(start, stop, step, n);
  StrBuilder out(in.budget);
  if (r.step == 1) {
    if (r.start >= r.stop) return Value(out.take());
    const auto begin = static_cast<std::size_t>(r.start), end = static_cast<std::size_t>(r.stop);
    if (ascii)
      out.add(s, begin, end);
    else {
      const std::size_t b = byte_of_char(s.text, begin);
      out.add(s, b, b + byte_of_char(std::string_view(s.text).substr(b), end - begin));
    }
    return Value(out.take());
  }
  in.budget.step(static_cast<std::size_t>(n) / 4);
  std::vector<std::size_t> starts;
  for (std::size_t p = 0; p < s.size();) {
    starts.push_back(p);
    p += ascii ? 1 : byte_of_char(std::string_view(s.text).substr(p), 1);
  }
  starts.push_back(s.size());
  for_range(r, [&](std::size_t i) { out.add(s, starts[i], starts[i + 1]); });
  return Value(out.take());
}

std::vector<Value> characters(const Str& s, Interp& in) {
  in.budget.values(char_count(s.text));
  std::vector<Value> out;
  for (std::size_t p = 0; p < s.size();) {
    const std::size_t n = byte_of_char(std::string_view(s.text).substr(p, 4), 1);
    out.emplace_back(slice_bytes(s, p, p + n, in.budget));
    p += n;
  }
  return out;
}

}  // namespace

Value get_attribute(const Value& v, std::string_view name, Interp& in) {
  if (v.is_undefined()) fail_undefined(v);
  if (auto own = own_attribute(v, name, in)) return std::move(*own);
  if (v.is_dict()) {
    in.budget.step(v.dict().items.size() / 64);
    if (const Value* item = v.dict().find(name)) return *item;
  }
  return missing(v, name);
}

Value get_item(const Value& v, const Value& key, Interp& in) {
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_dict() && is_hashable(key)) {
    in.budget.step(v.dict().items.size() / 64);
    if (const Value* item = v.dict().find(key)) return *item;
  }
  const bool indexable =
      v.is_str() || (v.is_list() && v.list().form != List::Form::view && v.list().form != List::Form::iterator);
  if (indexable && (key.is_int() || key.is_bool())) {
    std::int64_t i = as_index(key, "index");
    if (v.is_list()) {
      const auto n = static_cast<std::int64_t>(v.list().items.size());
      if (i < 0) i += n;
      if (i >= 0 && i < n) return v.list().items[static_cast<std::size_t>(i)];
    } else {
      in.budget.scan(v.str().size());
      const std::string_view t = v.str().text;
      if (i < 0) i += static_cast<std::int64_t>(char_count(t));
      const std::size_t p = i < 0 ? t.size() : byte_of_char(t, static_cast<std::size_t>(i));
      if (p < t.size()) return Value(slice_bytes(v.str(), p, p + byte_of_char(t.substr(p, 4), 1), in.budget));
    }
  }
  if (key.is_str()) {
    if (auto own = own_attribute(v, key.str().text, in)) return std::move(*own);
    return missing(v, key.str().text);
  }
  return Value::undefined(
      fmt::format("{} has no element {}", v.is_none() ? "None" : type_name(v) + " object", repr(key, in).text));
}

Value get_slice(const Value& v, const Value& start, const Value& stop, const Value& step, Interp& in) {
  if (v.is_undefined()) fail_undefined(v);
  if (!is_bound(start) || !is_bound(stop) || !is_bound(step)) return no_slice(v);
  if (v.is_str()) return slice_str(v.str(), start, stop, step, in);
  if (!v.is_list() || v.list().form == List::Form::view || v.list().form == List::Form::iterator) return no_slice(v);
  const auto& items = v.list().items;
  std::vector<Value> out;
  for_range(slice_range(start, stop, step, static_cast<std::int64_t>(items.size())), [&](std::size_t i) {
    in.budget.values(1);
    out.push_back(items[i]);
  });
  return make_list(std::move(out), v.list().form == List::Form::tuple ? List::Form::tuple : List::Form::list);
}

std::vector<Value> iterate(const Value& v, Interp& in) {
  if (v.is_undefined()) {
    if (std::string_view(v.undefined().kind) != "UndefinedError") fail_undefined(v);
    return {};
  }
  if (v.is_str()) return characters(v.str(), in);
  if (v.is_dict()) {
    in.budget.bytes(16 * v.dict().items.size());
    std::vector<Value> keys;
    keys.reserve(v.dict().items.size());
    for (const auto& [key, value] : v.dict().items) keys.push_back(key);
    return keys;
  }
  if (v.is_list()) {
    const List& list = v.list();
    const std::size_t from = list.form == List::Form::iterator ? std::min(list.taken, list.items.size()) : 0;
    in.budget.bytes(16 * (list.items.size() - from));  // copies of handles, gone after the loop
    if (list.form == List::Form::iterator) list.taken = list.items.size();
    return {list.items.begin() + static_cast<std::ptrdiff_t>(from), list.items.end()};
  }
  throw Error("TypeError", fmt::format("'{}' object is not iterable", type_name(v)));
}

std::size_t length(const Value& v) {
  if (v.is_undefined()) return 0;
  if (v.is_str()) return char_count(v.str().text);
  if (v.is_dict()) return v.dict().items.size();
  if (v.is_list() && v.list().form != List::Form::iterator) return v.list().items.size();
  throw Error("TypeError", fmt::format("object of type '{}' has no len()", type_name(v)));
}

}  // namespace hearth::jinja
