#include "text/jinja/loop.h"

#include <fmt/format.h>

#include "text/jinja/ops.h"

namespace hearth::jinja {
namespace {

LoopObject& self_loop(const Value& self) { return dynamic_cast<LoopObject&>(self.object()); }

Value loop_cycle(Interp&, const Value& self, Args& args) {
  if (args.pos.empty()) throw Error("TypeError", "no items for cycling given");
  return args.pos[self_loop(self).index % args.pos.size()];
}

Value loop_changed(Interp& in, const Value& self, Args& args) { return Value(self_loop(self).changed(args.pos, in)); }

}  // namespace

bool LoopObject::changed(std::vector<Value> values, Interp& in) {
  const Value now = make_tuple(values);
  if (last_changed_ && equal(make_tuple(*last_changed_), now, in.budget)) return false;
  last_changed_ = std::move(values);
  return true;
}

std::optional<Value> LoopObject::attribute(std::string_view name, Interp& in) {
  const std::size_t n = items_.size();
  if (name == "index") return Value::integer(index + 1);
  if (name == "index0") return Value::integer(index);
  if (name == "revindex") return Value::integer(n - index);
  if (name == "revindex0") return Value::integer(n - index - 1);
  if (name == "first") return Value(index == 0);
  if (name == "last") return Value(index + 1 == n);
  if (name == "length") return Value::integer(n);
  if (name == "depth") return Value(static_cast<Int>(depth_ + 1));
  if (name == "depth0") return Value(static_cast<Int>(depth_));
  if (name == "previtem") return index == 0 ? Value::undefined("there is no previous item") : items_[index - 1];
  if (name == "nextitem") return index + 1 == n ? Value::undefined("there is no next item") : items_[index + 1];
  if (name == "cycle")
    return Value(ObjectPtr(std::make_shared<Function>(loop_cycle, Value(ObjectPtr(shared_from_this())))));
  if (name == "changed") {
    in.release_at_end(shared_from_this());
    return Value(ObjectPtr(std::make_shared<Function>(loop_changed, Value(ObjectPtr(shared_from_this())))));
  }
  return std::nullopt;
}

Value LoopObject::call(Interp& in, Args& args) {
  if (!loop_.recursive) throw Error("TypeError", "The loop must have the 'recursive' marker to be called recursively.");
  if (args.pos.size() != 1)
    throw Error("TypeError", fmt::format("loop() takes one argument, {} given", args.pos.size()));
  return Value(in.render_loop(loop_, iterate(args.pos[0], in), outer_, depth_ + 1));
}

std::optional<Value> MacroObject::attribute(std::string_view name, Interp&) {
  if (name == "name") return Value(plain(macro_.name));
  if (name == "caller") return Value(macro_.uses_caller);
  if (name == "catch_kwargs") return Value(macro_.uses_kwargs);
  if (name == "catch_varargs") return Value(macro_.uses_varargs);
  if (name == "arguments") {
    std::vector<Value> names;
    for (const std::string& p : macro_.params) names.emplace_back(plain(p));
    return make_tuple(std::move(names));
  }
  return std::nullopt;
}

// ---- namespace -----------------------------------------------------------------------------------------------------
std::optional<Value> Namespace::attribute(std::string_view name, Interp&) {
  for (const auto& [n, v] : names)
    if (n == name) return v;
  return std::nullopt;
}

void Namespace::set(std::string_view name, Value value) {
  for (auto& [n, v] : names)
    if (n == name) {
      v = std::move(value);
      return;
    }
  names.emplace_back(std::string(name), std::move(value));
}

Str Namespace::repr(Interp& in) {
  const Budget::Level level(in.budget);
  StrBuilder out(in.budget);
  out.add("<Namespace {");
  bool first = true;
  for (const auto& [n, v] : names) {
    if (!first) out.add(", ");
    first = false;
    out.add(jinja::repr(Value(plain(n)), in));
    out.add(": ");
    out.add(jinja::repr(v, in));
  }
  out.add("}>");
  return out.take();
}

}  // namespace hearth::jinja
