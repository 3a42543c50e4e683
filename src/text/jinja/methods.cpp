// methods.cpp — methods of lists, dicts and numbers; strings have their own file.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "text/jinja/format.h"
#include "text/jinja/methods.h"
#include "text/jinja/ops.h"

namespace hearth::jinja {
namespace {

// ---- dict ----------------------------------------------------------------------------------------------------------
Value dict_view(Interp& in, const Value& self, const char* name, int what) {
  const auto& items = self.dict().items;
  in.budget.values(items.size());
  std::vector<Value> out;
  out.reserve(items.size());
  for (const auto& [k, v] : items) out.push_back(what == 0 ? k : what == 1 ? v : make_tuple({k, v}));
  return make_list(std::move(out), List::Form::view, name);
}
Value dict_keys(Interp& in, const Value& self, Args& args) {
  const Params p(args, "keys", {});
  return dict_view(in, self, "dict_keys", 0);
}
Value dict_values(Interp& in, const Value& self, Args& args) {
  const Params p(args, "values", {});
  return dict_view(in, self, "dict_values", 1);
}
Value dict_items(Interp& in, const Value& self, Args& args) {
  const Params p(args, "items", {});
  return dict_view(in, self, "dict_items", 2);
}
Value dict_get(Interp& in, const Value& self, Args& args) {
  if (!args.kw.empty()) throw Error("TypeError", "dict.get() takes no keyword arguments");
  const Params p(args, "get", {"key", "default"}, 1);
  if (!is_hashable(p.required(0)))
    throw Error("TypeError", fmt::format("unhashable type: '{}'", type_name(p.required(0))));
  in.budget.step(1 + self.dict().items.size() / 64);
  if (const Value* v = self.dict().find(p.required(0))) return *v;
  return p[1] ? *p[1] : Value();
}
Value same(Interp&, const Value& self, Args& args) {
  const Params p(args, "copy", {});
  return self;
}

// ---- list, tuple ---------------------------------------------------------------------------------------------------
Value list_index(Interp& in, const Value& self, Args& args) {
  const Params p(args, "index", {"value", "start", "stop"}, 1);
  const auto n = static_cast<std::int64_t>(self.list().items.size());
  const auto clamp = [&](std::int64_t i) { return std::clamp<std::int64_t>(i < 0 ? i + n : i, 0, n); };
  for (std::int64_t i = clamp(p.index(1, 0)); i < clamp(p.index(2, n)); ++i)
    if (equal(self.list().items[static_cast<std::size_t>(i)], p.required(0), in.budget))
      return Value(static_cast<Int>(i));
  throw Error("ValueError", fmt::format("{} is not in {}", repr(p.required(0), in).text, type_name(self)));
}
Value list_count(Interp& in, const Value& self, Args& args) {
  const Params p(args, "count", {"value"}, 1);
  Int n = 0;
  for (const Value& v : self.list().items) n += equal(v, p.required(0), in.budget) ? 1 : 0;
  return Value(n);
}

// ---- numbers -------------------------------------------------------------------------------------------------------
Value is_integer(Interp&, const Value& self, Args& args) {
  const Params p(args, "is_integer", {});
  return Value(!self.is_float() || std::floor(self.real()) == self.real());
}
Value bit_length(Interp&, const Value& self, Args& args) {
  const Params p(args, "bit_length", {});
  Int v = self.whole(), n = 0;
  for (v = v < 0 ? -v : v; v > 0; v >>= 1) ++n;
  return Value(n);
}

constexpr Method kDict[] = {
    {"keys", dict_keys}, {"values", dict_values}, {"items", dict_items}, {"get", dict_get}, {"copy", same}};
constexpr Method kList[] = {{"index", list_index}, {"count", list_count}, {"copy", same}};
constexpr Method kInt[] = {{"bit_length", bit_length}};
constexpr Method kFloat[] = {{"is_integer", is_integer}};

// Present in Python, refused by transformers' sandbox because they change the value.
constexpr std::string_view kDictChanges[] = {"clear", "pop", "popitem", "setdefault", "update"};
constexpr std::string_view kListChanges[] = {"append", "clear", "extend", "insert", "pop", "remove", "reverse", "sort"};

}  // namespace

std::optional<Value> find_method(const Value& v, std::string_view name) {
  const auto bind = [&](std::span<const Method> table) -> std::optional<Value> {
    for (const Method& m : table)
      if (m.name == name) return Value(ObjectPtr(std::make_shared<Function>(m.fn, v)));
    return std::nullopt;
  };
  const auto unsafe = [&](std::span<const std::string_view> names) -> std::optional<Value> {
    if (std::find(names.begin(), names.end(), name) == names.end()) return std::nullopt;
    return Value::undefined(fmt::format("access to attribute '{}' of '{}' object is unsafe.", name, type_name(v)),
                            "SecurityError");
  };
  if (v.is_str()) return bind(string_methods());
  if (v.is_dict()) {
    auto m = bind(kDict);
    return m ? m : unsafe(kDictChanges);
  }
  if (v.is_list()) {
    const auto form = v.list().form;
    if (form == List::Form::view || form == List::Form::iterator) return std::nullopt;
    auto m = bind(form == List::Form::list ? std::span<const Method>(kList) : std::span<const Method>(kList, 2));
    return m || form != List::Form::list ? m : unsafe(kListChanges);
  }
  if (v.is_int() || v.is_bool()) return bind(kInt);
  if (v.is_float()) return bind(kFloat);
  return std::nullopt;
}

}  // namespace hearth::jinja
