// sequence_filters.cpp — filters over lists and dicts.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/filters.h"
#include "text/jinja/interp.h"
#include "text/jinja/ops.h"

namespace hearth::jinja {
namespace {

Value lowered(const Value& v, Interp& in) {
  return v.is_str() ? Value(change_case(v.str(), Case::lower, in.budget)) : v;
}

// ---- whole sequences -----------------------------------------------------------------------------------------------
Value count(Interp&, const Value& v, Args& args) {
  const Params p(args, "length", {});
  return Value::integer(length(v));
}

Value list(Interp& in, const Value& v, Args& args) {
  const Params p(args, "list", {});
  return make_list(iterate(v, in));
}

Value items(Interp& in, const Value& v, Args& args) {
  const Params p(args, "items", {});
  if (v.is_undefined()) return make_iterator({});
  if (!v.is_dict()) throw Error("TypeError", "Can only get item pairs from a mapping.");
  std::vector<Value> out;
  in.budget.values(2 * v.dict().items.size());
  for (const auto& [key, value] : v.dict().items) out.push_back(make_tuple({key, value}));
  return make_iterator(std::move(out));
}

Value first(Interp& in, const Value& v, Args& args) {
  const Params p(args, "first", {});
  if (v.is_list() && v.list().form != List::Form::iterator && !v.list().items.empty()) return v.list().items.front();
  if (v.is_str() && v.str().size() > 0) return get_item(v, Value(Int{0}), in);
  const std::vector<Value> all = iterate(v, in);
  return all.empty() ? Value::undefined("No first item, sequence was empty.") : all.front();
}

Value last(Interp& in, const Value& v, Args& args) {
  const Params p(args, "last", {});
  if (v.is_list() && v.list().form == List::Form::iterator)
    throw Error("TypeError", "'generator' object is not reversible");
  if (v.is_list() && !v.list().items.empty()) return v.list().items.back();
  if (v.is_str() && v.str().size() > 0) return get_item(v, Value(Int{-1}), in);
  const std::vector<Value> all = iterate(v, in);
  return all.empty() ? Value::undefined("No last item, sequence was empty.") : all.back();
}

Value join(Interp& in, const Value& v, Args& args) {
  const Params p(args, "join", {"d", "attribute"});
  const Str between = p[0] ? to_str(*p[0], in) : Str{};
  StrBuilder out(in.budget);
  bool any = false;
  for (const Value& item : iterate(v, in)) {
    if (any) out.add(between);
    any = true;
    out.add(to_str(p[1] && !p[1]->is_none() ? attribute_path(item, *p[1], in) : item, in));
  }
  return Value(out.take());
}

Value reverse(Interp& in, const Value& v, Args& args) {
  const Params p(args, "reverse", {});
  if (v.is_str()) return get_slice(v, Value(), Value(), Value(Int{-1}), in);
  std::vector<Value> all = iterate(v, in);
  std::reverse(all.begin(), all.end());
  return make_iterator(std::move(all));
}

Value otherwise(Interp&, const Value& v, Args& args) {
  const Params p(args, "default", {"default_value", "boolean"});
  if (v.is_undefined() || (p.flag(1, false) && !truthy(v))) return p[0] ? *p[0] : Value(Str{});
  return v;
}

// ---- map, select ---------------------------------------------------------------------------------------------------
std::string name_of(const Value& v) {
  if (!v.is_str())
    throw Error("TypeError", fmt::format("the name of a filter or test must be a string, not {}", type_name(v)));
  return v.str().text;
}

// As Jinja, map and select take any false value, none too, for an empty sequence.
Value map(Interp& in, const Value& v, Args& args) {
  std::vector<Value> out;
  if (!truthy(v)) return make_iterator({});
  if (args.pos.empty()) {
    const Params p(args, "map", {"attribute", "default"}, 1);
    for (const Value& item : iterate(v, in)) {
      Value found = attribute_path(item, p.required(0), in);
      out.push_back(found.is_undefined() && p[1] && !p[1]->is_none() ? *p[1] : std::move(found));
    }
    return make_iterator(std::move(out));
  }
  const std::string name = name_of(args.pos[0]);
  const Args rest{{args.pos.begin() + 1, args.pos.end()}, args.kw};
  for (const Value& item : iterate(v, in)) {
    Args each = rest;
    out.push_back(in.apply_filter(name, item, each));
  }
  return make_iterator(std::move(out));
}

template <bool keep, bool by_attribute>
Value select(Interp& in, const Value& v, Args& args) {
  constexpr std::size_t at = by_attribute ? 1 : 0;
  if (!truthy(v)) return make_iterator({});
  if (by_attribute && args.pos.empty()) throw Error("FilterArgumentError", "Missing parameter for attribute name");
  std::string name;
  Args rest;
  if (args.pos.size() > at) {
    name = name_of(args.pos[at]);
    rest = {{args.pos.begin() + at + 1, args.pos.end()}, args.kw};
  }
  std::vector<Value> out;
  for (Value& item : iterate(v, in)) {
    const Value what = by_attribute ? attribute_path(item, args.pos[0], in) : item;
    Args each = rest;
    if ((name.empty() ? truthy(what) : in.apply_test(name, what, each)) == keep) out.push_back(std::move(item));
  }
  return make_iterator(std::move(out));
}

// ---- order ---------------------------------------------------------------------------------------------------------
struct Keyed {
  Value key, item;
};

std::vector<Value> sorted(std::vector<Keyed> rows, bool reverse, Interp& in) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Keyed& a, const Keyed& b) {
    return reverse ? less(b.key, a.key, "<", in.budget) : less(a.key, b.key, "<", in.budget);
  });
  std::vector<Value> out;
  out.reserve(rows.size());
  for (Keyed& r : rows) out.push_back(std::move(r.item));
  return out;
}

Value sort(Interp& in, const Value& v, Args& args) {
  const Params p(args, "sort", {"reverse", "case_sensitive", "attribute"});
  const bool as_is = p.flag(1, false);
  std::vector<Value> paths;
  if (p[2] && p[2]->is_str()) {
    for (Str& s : split(p[2]->str(), ",", -1, false, in.budget)) paths.emplace_back(std::move(s));
  } else if (p[2] && !p[2]->is_none()) {
    paths.push_back(*p[2]);
  }
  std::vector<Keyed> rows;
  for (Value& item : iterate(v, in)) {
    std::vector<Value> key;
    for (const Value& path : paths) key.push_back(attribute_path(item, path, in));
    if (paths.empty()) key.push_back(item);
    if (!as_is)
      for (Value& k : key) k = lowered(k, in);
    rows.push_back({make_list(std::move(key)), std::move(item)});
  }
  return make_list(sorted(std::move(rows), p.flag(0, false), in));
}

Value dictsort(Interp& in, const Value& v, Args& args) {
  const Params p(args, "dictsort", {"case_sensitive", "by", "reverse"});
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is_dict()) throw Error("AttributeError", fmt::format("'{}' object has no attribute 'items'", type_name(v)));
  const std::string_view by = p[1] ? p.str(1).view() : "key";
  if (by != "key" && by != "value")
    throw Error("FilterArgumentError", "You can only sort by either \"key\" or \"value\"");
  std::vector<Keyed> rows;
  in.budget.values(2 * v.dict().items.size());
  for (const auto& [key, value] : v.dict().items) {
    const Value& sort_by = by == "key" ? key : value;
    rows.push_back({p.flag(0, false) ? sort_by : lowered(sort_by, in), make_tuple({key, value})});
  }
  return make_list(sorted(std::move(rows), p.flag(2, false), in));
}

template <bool largest>
Value extreme(Interp& in, const Value& v, Args& args) {
  const Params p(args, largest ? "max" : "min", {"case_sensitive", "attribute"});
  std::optional<Keyed> best;
  for (Value& item : iterate(v, in)) {
    Value key = p[1] && !p[1]->is_none() ? attribute_path(item, *p[1], in) : item;
    if (!p.flag(0, false)) key = lowered(key, in);
    if (!best || (largest ? less(best->key, key, "<", in.budget) : less(key, best->key, "<", in.budget)))
      best = Keyed{std::move(key), std::move(item)};
  }
  return best ? best->item : Value::undefined("No aggregated item, sequence was empty.");
}

Value unique(Interp& in, const Value& v, Args& args) {
  const Params p(args, "unique", {"case_sensitive", "attribute"});
  std::vector<Value> out;
  Dict seen;
  for (Value& item : iterate(v, in)) {
    Value key = p[1] && !p[1]->is_none() ? attribute_path(item, *p[1], in) : item;
    if (!p.flag(0, false)) key = lowered(key, in);
    if (!is_hashable(key)) throw Error("TypeError", fmt::format("unhashable type: '{}'", type_name(key)));
    in.budget.step(key.is_str() ? 1 : 1 + seen.items.size());
    if (seen.find(key)) continue;
    seen.set(std::move(key), Value(true));
    out.push_back(std::move(item));
  }
  return make_iterator(std::move(out));
}

Value groupby(Interp& in, const Value& v, Args& args) {
  static const std::vector<std::string> kFields = {"grouper", "list"};
  const Params p(args, "groupby", {"attribute", "default", "case_sensitive"}, 1);
  std::vector<Keyed> rows;
  for (Value& item : iterate(v, in)) {
    Value key = attribute_path(item, p.required(0), in);
    if (key.is_undefined() && p[1] && !p[1]->is_none()) key = *p[1];
    if (!p.flag(2, false)) key = lowered(key, in);
    rows.push_back({key, make_tuple({key, std::move(item)})});
  }
  std::vector<Value> out;
  const std::vector<Value> ordered = sorted(std::move(rows), false, in);
  for (std::size_t i = 0; i < ordered.size();) {
    const Value& key = ordered[i].list().items[0];
    std::vector<Value> members;
    while (i < ordered.size() && equal(ordered[i].list().items[0], key, in.budget))
      members.push_back(ordered[i++].list().items[1]);
    if (members.empty()) members.push_back(ordered[i++].list().items[1]);  // NaN equals nothing
    Value name = attribute_path(members[0], p.required(0), in);
    if (name.is_undefined()) name = key;
    auto group = std::make_shared<List>(make_tuple({std::move(name), make_list(std::move(members))}).list());
    group->fields = &kFields;
    out.emplace_back(ListPtr(std::move(group)));
  }
  return make_list(std::move(out));
}

// ---- numbers and groups --------------------------------------------------------------------------------------------
Value sum(Interp& in, const Value& v, Args& args) {
  const Params p(args, "sum", {"attribute", "start"});
  Value total = p[1] ? *p[1] : Value(Int{0});
  for (const Value& item : iterate(v, in))
    total = binary(BinaryOp::add, total, p[0] && !p[0]->is_none() ? attribute_path(item, *p[0], in) : item, in);
  return total;
}

Value batch(Interp& in, const Value& v, Args& args) {
  const Params p(args, "batch", {"linecount", "fill_with"}, 1);
  const std::int64_t n = p.index(0, 0);
  if (n < 1) throw Error("ValueError", "batch needs a positive number");
  std::vector<Value> out, row;
  const auto finish = [&] { out.push_back(make_list(std::exchange(row, {}))); };
  for (Value& item : iterate(v, in)) {
    if (static_cast<std::int64_t>(row.size()) == n) finish();
    row.push_back(std::move(item));
  }
  if (row.empty()) return make_iterator(std::move(out));
  if (p[1] && !p[1]->is_none() && static_cast<std::int64_t>(row.size()) < n) {
    in.budget.values(static_cast<std::size_t>(n));
    row.resize(static_cast<std::size_t>(n), *p[1]);
  }
  finish();
  return make_iterator(std::move(out));
}

Value slices(Interp& in, const Value& v, Args& args) {
  const Params p(args, "slice", {"slices", "fill_with"}, 1);
  const std::vector<Value> all = iterate(v, in);
  const std::int64_t n = p.index(0, 0);
  if (n < 1) throw Error("ValueError", "slice needs a positive number");
  in.budget.values(static_cast<std::size_t>(n));
  const std::size_t count_ = static_cast<std::size_t>(n), each = all.size() / count_, extra = all.size() % count_;
  std::vector<Value> out;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count_; ++i) {
    const std::size_t end = at + each + (i < extra ? 1 : 0);
    std::vector<Value> row(all.begin() + static_cast<std::ptrdiff_t>(at),
                           all.begin() + static_cast<std::ptrdiff_t>(end));
    if (p[1] && !p[1]->is_none() && i >= extra) row.push_back(*p[1]);
    at = end;
    out.push_back(make_list(std::move(row)));
  }
  return make_iterator(std::move(out));
}

Value attr(Interp& in, const Value& v, Args& args) {
  const Params p(args, "attr", {"name"}, 1);
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_dict()) {  // attributes only, never keys
    auto m = find_method(v, p.str(0).text);
    return m ? std::move(*m) : Value::undefined(fmt::format("'dict object' has no attribute '{}'", p.str(0).text));
  }
  return get_attribute(v, p.str(0).text, in);
}

constexpr FilterRow kFilters[] = {
    {"length", count},
    {"count", count},
    {"list", list},
    {"items", items},
    {"first", first},
    {"last", last},
    {"join", join},
    {"reverse", reverse},
    {"default", otherwise},
    {"d", otherwise},
    {"map", map},
    {"select", select<true, false>},
    {"reject", select<false, false>},
    {"selectattr", select<true, true>},
    {"rejectattr", select<false, true>},
    {"sort", sort},
    {"dictsort", dictsort},
    {"min", extreme<false>},
    {"max", extreme<true>},
    {"unique", unique},
    {"groupby", groupby},
    {"sum", sum},
    {"batch", batch},
    {"slice", slices},
    {"attr", attr},
};

}  // namespace

std::span<const FilterRow> sequence_filters() { return kFilters; }

Value attribute_path(const Value& item, const Value& path, Interp& in) {
  if (!path.is_str()) return get_item(item, path, in);
  Value v = item;
  for (const Str& part : split(path.str(), ".", -1, false, in.budget)) {
    const bool number = part.size() > 0 && part.size() < 10 &&
                        std::all_of(part.text.begin(), part.text.end(), [](char c) { return c >= '0' && c <= '9'; });
    v = get_item(v, number ? Value(static_cast<Int>(std::stoll(part.text))) : Value(part), in);
  }
  return v;
}

}  // namespace hearth::jinja
