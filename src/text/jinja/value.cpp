#include "text/jinja/value.h"

#include <algorithm>

#include "text/jinja/ops.h"

namespace hearth::jinja {

std::optional<Value> Object::attribute(std::string_view, Interp&) { return std::nullopt; }
Value Object::call(Interp&, Args&) {
  throw Error("TypeError", "'" + std::string(type_name()) + "' object is not callable");
}
Str Object::repr(Interp&) { return plain("<" + std::string(type_name()) + ">"); }

const void* Value::address() const {
  if (is_str()) return std::get<StrPtr>(v_).get();
  if (is_list()) return std::get<ListPtr>(v_).get();
  if (is_dict()) return std::get<DictPtr>(v_).get();
  if (is_object()) return std::get<ObjectPtr>(v_).get();
  return nullptr;
}

namespace {

int nesting_of(const Value& v) {
  if (v.is_list()) return v.list().nesting;
  if (v.is_dict()) return v.dict().nesting;
  return 0;
}
int checked_nesting(int below) {
  if (below + 1 > kMaxNesting) throw Error("LimitError", "values are nested too deeply");
  return below + 1;
}

constexpr std::size_t kIndexFrom = 16;

bool same_key(const Value& a, const Value& b) {
  if (a.is_str() || b.is_str()) return a.is_str() && b.is_str() && a.str().text == b.str().text;
  Budget own(100000, 1000000);
  return equal(a, b, own);
}

}  // namespace

std::optional<std::size_t> Dict::index_of(const Value& key) const {
  if (key.is_str() && items.size() > kIndexFrom) {
    const auto it = by_text_.find(key.str().text);
    if (it == by_text_.end()) return std::nullopt;
    return it->second;
  }
  for (std::size_t i = 0; i < items.size(); ++i)
    if (same_key(items[i].first, key)) return i;
  return std::nullopt;
}

const Value* Dict::find(const Value& key) const {
  const auto i = index_of(key);
  return i ? &items[*i].second : nullptr;
}

const Value* Dict::find(std::string_view key) const {
  if (items.size() > kIndexFrom) {
    const auto it = by_text_.find(std::string(key));
    return it == by_text_.end() ? nullptr : &items[it->second].second;
  }
  for (const auto& [k, v] : items)
    if (k.is_str() && k.str().text == key) return &v;
  return nullptr;
}

void Dict::set(Value key, Value value) {
  nesting = std::max({nesting, checked_nesting(nesting_of(key)), checked_nesting(nesting_of(value))});
  if (const auto i = index_of(key)) {
    items[*i].second = std::move(value);
    return;
  }
  items.emplace_back(std::move(key), std::move(value));
  if (items.size() == kIndexFrom + 1) {
    for (std::size_t i = 0; i < items.size(); ++i)
      if (items[i].first.is_str()) by_text_[items[i].first.str().text] = i;
  } else if (items.size() > kIndexFrom && items.back().first.is_str()) {
    by_text_[items.back().first.str().text] = items.size() - 1;
  }
}

Value make_list(std::vector<Value> items, List::Form form, std::string name) {
  auto list = std::make_shared<List>();
  int below = 0;
  for (const Value& v : items) below = std::max(below, nesting_of(v));
  list->nesting = checked_nesting(below);
  list->form = form;
  list->items = std::move(items);
  list->name = std::move(name);
  return Value(ListPtr(std::move(list)));
}

Value make_dict(Dict dict) { return Value(DictPtr(std::make_shared<const Dict>(std::move(dict)))); }

std::string type_name(const Value& v) {
  if (v.is_undefined()) return "Undefined";
  if (v.is_none()) return "NoneType";
  if (v.is_bool()) return "bool";
  if (v.is_int()) return "int";
  if (v.is_float()) return "float";
  if (v.is_str()) return "str";
  if (v.is_dict()) return "dict";
  if (v.is_object()) return std::string(v.object().type_name());
  switch (v.list().form) {
    case List::Form::list:
      return "list";
    case List::Form::tuple:
      return "tuple";
    case List::Form::range:
      return "range";
    case List::Form::view:
      return v.list().name;
    case List::Form::iterator:
      return "generator";
  }
  return "list";
}

bool is_hashable(const Value& v) {
  if (v.is_dict()) return false;
  if (!v.is_list()) return true;
  if (v.list().form == List::Form::list || v.list().form == List::Form::view) return false;
  return v.list().form != List::Form::tuple || std::all_of(v.list().items.begin(), v.list().items.end(), is_hashable);
}

}  // namespace hearth::jinja
