// exec.cpp — statements.
#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/interp.h"
#include "text/jinja/loop.h"
#include "text/jinja/ops.h"

namespace hearth::jinja {

// ---- frames --------------------------------------------------------------------------------------------------------
const Value* Frame::find(std::string_view name, std::size_t& seen) const {
  for (const Frame* f = this; f; f = f->outer) {
    ++seen;
    for (const auto& [n, v] : f->names) {
      ++seen;
      if (n == name) return &v;
    }
  }
  return nullptr;
}

void Frame::set(std::string_view name, Value value) {
  for (auto& [n, v] : names)
    if (n == name) {
      v = std::move(value);
      return;
    }
  names.emplace_back(std::string(name), std::move(value));
}

Interp::~Interp() {
  for (const ObjectPtr& o : released_at_end_) o->release();
  for (Frame& f : frames_) f.names.clear();
}

Frame& Interp::keep_frame(const Frame* outer) {
  budget.values(2);
  frames_.push_back({outer, {}});
  return frames_.back();
}

void Interp::release_at_end(ObjectPtr object) {
  budget.values(2);
  released_at_end_.push_back(std::move(object));
}

std::shared_ptr<Namespace> Interp::new_namespace() {
  auto ns = std::make_shared<Namespace>();
  release_at_end(ns);
  return ns;
}

// ---- running -------------------------------------------------------------------------------------------------------
Str Interp::render(const Template& t) {
  StrBuilder out(budget);
  Frame& top = keep_frame(&root_);
  run(t.body, top, out);
  return out.take();
}

Interp::Flow Interp::run(const Body& body, Frame& f, StrBuilder& out) {
  const Budget::Level level(budget);
  for (const auto& s : body) {
    budget.step();
    try {
      const Flow flow = run(*s, f, out);
      if (flow != Flow::go_on) return flow;
    } catch (Error& e) {
      if (e.line == 0) e.line = s->line;
      throw;
    }
  }
  return Flow::go_on;
}

Interp::Flow Interp::run(const Stmt& s, Frame& f, StrBuilder& out) {
  using Kind = Stmt::Kind;
  switch (s.kind) {
    case Kind::data:
      out.add(s.text);
      break;
    case Kind::print: {
      const Value v = evaluate(*s.expr, f);
      if (v.is_str())
        out.add(v.str());
      else
        out.add(to_str(v, *this));
      break;
    }
    case Kind::branch:
      return branch(s, f, out);
    case Kind::loop:
      loop(s, evaluate(*s.expr, f), f, 0, out);
      break;
    case Kind::set:
    case Kind::set_block:
      set(s, f);
      break;
    case Kind::macro:
      f.set(s.macro.name, Value(ObjectPtr(std::make_shared<MacroObject>(s.macro, &f))));
      break;
    case Kind::call_block:
      call_block(s, f, out);
      break;
    case Kind::filter_block: {
      const Value text(run_scoped(s.body, f));
      const Value* before = std::exchange(hole_, &text);
      const Value v = evaluate(*s.expr, f);
      hole_ = before;
      out.add(to_str(v, *this));
      break;
    }
    case Kind::scope:
      out.add(run_scoped(s.body, f));
      break;
    case Kind::with: {
      Frame& inner = keep_frame(&f);
      for (const auto& [target, value] : s.assignments) assign(*target, evaluate(*value, f), inner);
      return run(s.body, inner, out);
    }
    case Kind::evaluate:
      evaluate(*s.expr, f);
      break;
    case Kind::stop:
      return Flow::stop;
    case Kind::next:
      return Flow::next;
  }
  return Flow::go_on;
}

Interp::Flow Interp::branch(const Stmt& s, Frame& f, StrBuilder& out) {
  for (const auto& [condition, body] : s.branches)
    if (!condition || truthy(evaluate(*condition, f))) return run(body, f, out);
  return Flow::go_on;
}

Str Interp::run_scoped(const Body& body, const Frame& outer) {
  StrBuilder out(budget);
  run(body, keep_frame(&outer), out);
  return out.take();
}

void Interp::set(const Stmt& s, Frame& f) {
  if (s.kind == Stmt::Kind::set) return assign(*s.target, evaluate(*s.expr, f), f);
  Value v(run_scoped(s.body, f));
  if (s.expr) {
    const Value* before = std::exchange(hole_, &v);
    Value filtered = evaluate(*s.expr, f);
    hole_ = before;
    v = std::move(filtered);
  }
  assign(*s.target, std::move(v), f);
}

void Interp::assign(const Expr& target, Value value, Frame& f) {
  if (target.kind == Expr::Kind::name) {
    budget.step(f.names.size() / 16);
    return f.set(target.name, std::move(value));
  }
  if (target.kind == Expr::Kind::target_attribute) {
    const Value object = lookup(target.name, f);
    auto* ns = object.is_object() ? dynamic_cast<Namespace*>(&object.object()) : nullptr;
    if (!ns) throw Error("TemplateRuntimeError", "cannot assign attribute on non-namespace object");
    budget.step(1 + ns->names.size() / 16);
    return ns->set(target.names[0], std::move(value));
  }
  if (value.is_none() || value.is_number() || value.is_object())
    throw Error("TypeError", fmt::format("cannot unpack non-iterable {} object", type_name(value)));
  const std::vector<Value> items = iterate(value, *this);
  const std::size_t want = target.kids.size();
  if (items.size() > want) throw Error("ValueError", fmt::format("too many values to unpack (expected {})", want));
  if (items.size() < want)
    throw Error("ValueError", fmt::format("not enough values to unpack (expected {}, got {})", want, items.size()));
  for (std::size_t i = 0; i < want; ++i) assign(*target.kids[i], items[i], f);
}

// ---- loops ---------------------------------------------------------------------------------------------------------
void Interp::loop(const Stmt& s, const Value& over, const Frame& outer, int depth, StrBuilder& out) {
  std::vector<Value> items = iterate(over, *this);
  if (s.condition) {
    std::vector<Value> kept;
    for (Value& v : items) {
      Frame f{&outer, {}};
      assign(*s.target, v, f);
      if (truthy(evaluate(*s.condition, f))) kept.push_back(std::move(v));
    }
    items = std::move(kept);
  }
  if (items.empty()) {
    Frame& f = keep_frame(&outer);
    run(s.otherwise, f, out);
    return;
  }
  const auto state = std::make_shared<LoopObject>(s, std::move(items), outer, depth);
  Frame own{&outer, {}};
  for (std::size_t i = 0; i < state->items().size(); ++i) {
    budget.step();
    state->index = i;
    Frame& f = s.keeps_frames || s.recursive ? keep_frame(&outer) : own;
    f.names.clear();
    f.set("loop", Value(ObjectPtr(state)));
    assign(*s.target, state->items()[i], f);
    if (run(s.body, f, out) == Flow::stop) break;
  }
}

Str Interp::render_loop(const Stmt& s, const std::vector<Value>& items, const Frame& outer, int depth) {
  StrBuilder out(budget);
  loop(s, make_list(items), outer, depth, out);
  return out.take();
}

// ---- macros --------------------------------------------------------------------------------------------------------
void Interp::call_block(const Stmt& s, Frame& f, StrBuilder& out) {
  const Value callee = evaluate(*s.expr->kids[0], f);
  Args args = arguments(*s.expr, f);
  args.kw.emplace_back("caller", Value(ObjectPtr(std::make_shared<MacroObject>(s.macro, &f))));
  out.add(to_str(call(callee, args), *this));
}

Value Interp::call_macro(const Macro& m, const Frame* closure, Args& args) {
  const Budget::Level level(budget);
  Frame& f = keep_frame(closure);
  std::vector<const Value*> given(m.params.size(), nullptr);
  const std::size_t by_position = std::min(args.pos.size(), m.params.size());
  for (std::size_t i = 0; i < by_position; ++i) given[i] = &args.pos[i];
  if (args.pos.size() > m.params.size() && !m.uses_varargs)
    throw Error("TypeError", fmt::format("macro '{}' takes not more than {} argument(s)", m.name, m.params.size()));
  Dict kwargs;
  Value caller = Value::undefined("No caller defined");
  for (auto& [name, value] : args.kw) {
    const auto it = std::find(m.params.begin(), m.params.end(), name);
    if (it != m.params.end()) {
      const auto i = static_cast<std::size_t>(it - m.params.begin());
      if (given[i])
        throw Error("TypeError", fmt::format("macro '{}' got multiple values for argument '{}'", m.name, name));
      given[i] = &value;
    } else if (name == "caller" && m.uses_caller) {
      caller = value;
    } else if (m.uses_kwargs) {
      kwargs.set(Value(plain(name)), value);
    } else if (name == "caller") {
      throw Error(
          "TypeError",
          fmt::format("macro '{}' was invoked with two values for the special caller argument or does not use it",
                      m.name));
    } else {
      throw Error("TypeError", fmt::format("macro '{}' takes no keyword argument '{}'", m.name, name));
    }
  }
  const std::size_t first_default = m.params.size() - m.defaults.size();
  for (std::size_t i = 0; i < m.params.size(); ++i) {
    if (given[i])
      f.set(m.params[i], *given[i]);
    else if (i >= first_default)
      f.set(m.params[i], evaluate(*m.defaults[i - first_default], f));
    else
      f.set(m.params[i], Value::undefined(fmt::format("parameter '{}' was not provided", m.params[i])));
  }
  if (m.uses_varargs)
    f.set("varargs", make_tuple({args.pos.begin() + static_cast<std::ptrdiff_t>(by_position), args.pos.end()}));
  if (m.uses_kwargs) f.set("kwargs", make_dict(std::move(kwargs)));
  if (m.uses_caller && std::find(m.params.begin(), m.params.end(), "caller") == m.params.end()) f.set("caller", caller);
  StrBuilder out(budget);
  run(m.body, f, out);
  return Value(out.take());
}

}  // namespace hearth::jinja
