// eval.cpp — expressions.
#include <fmt/format.h>

#include "text/jinja/interp.h"
#include "text/jinja/ops.h"

namespace hearth::jinja {

Value Interp::lookup(const std::string& name, const Frame& f) {
  std::size_t seen = 0;
  const Value* v = f.find(name, seen);
  budget.step(seen / 16);
  if (v) return *v;
  if (auto g = find_global(name)) return std::move(*g);
  return Value::undefined(fmt::format("'{}' is undefined", name));
}

Value Interp::evaluate(const Expr& e, Frame& f) {
  using Kind = Expr::Kind;
  const Budget::Level level(budget);
  budget.step();
  const auto kid = [&](std::size_t i) { return evaluate(*e.kids[i], f); };
  switch (e.kind) {
    case Kind::literal:
      return e.value;
    case Kind::name:
      return lookup(e.name, f);
    case Kind::list:
    case Kind::tuple: {
      std::vector<Value> items;
      budget.values(e.kids.size());
      items.reserve(e.kids.size());
      for (const ExprPtr& k : e.kids) items.push_back(evaluate(*k, f));
      return make_list(std::move(items), e.kind == Kind::list ? List::Form::list : List::Form::tuple);
    }
    case Kind::dict: {
      Dict d;
      budget.values(e.kids.size());
      for (std::size_t i = 0; i < e.kids.size(); i += 2) {
        Value key = kid(i);
        if (!is_hashable(key)) throw Error("TypeError", fmt::format("unhashable type: '{}'", type_name(key)));
        budget.step(d.items.size() / 16);
        d.set(std::move(key), kid(i + 1));
      }
      return make_dict(std::move(d));
    }
    case Kind::attribute:
      return get_attribute(kid(0), e.name, *this);
    case Kind::item: {
      const Value object = kid(0);
      return get_item(object, kid(1), *this);
    }
    case Kind::slice: {
      const Value object = kid(0);
      const auto bound = [&](std::size_t i) { return e.kids[i] ? kid(i) : Value(); };
      const Value start = bound(1), stop = bound(2), step = bound(3);
      return get_slice(object, start, stop, step, *this);
    }
    case Kind::call:
      return evaluate_call(e, f);
    case Kind::filter:
      return evaluate_filter(e, f);
    case Kind::test: {
      const Value v = kid(0);
      Args args = arguments(e, f);
      if (!e.test) throw Error("TemplateRuntimeError", fmt::format("No test named '{}' found.", e.name));
      return Value(e.test(*this, v, args));
    }
    case Kind::negate:
      return negate(kid(0));
    case Kind::positive:
      return positive(kid(0));
    case Kind::logical_not:
      return Value(!truthy(kid(0)));
    case Kind::logical_and: {
      Value left = kid(0);
      return truthy(left) ? kid(1) : left;
    }
    case Kind::logical_or: {
      Value left = kid(0);
      return truthy(left) ? left : kid(1);
    }
    case Kind::binary: {
      const Value left = kid(0);
      return binary(static_cast<BinaryOp>(e.op), left, kid(1), *this);
    }
    case Kind::compare:
      return compare(e, f);
    case Kind::concat: {
      StrBuilder out(budget);
      for (const ExprPtr& k : e.kids) {
        const Value v = evaluate(*k, f);
        if (v.is_str())
          out.add(v.str());
        else
          out.add(to_str(v, *this));
      }
      return Value(out.take());
    }
    case Kind::conditional:
      if (truthy(kid(1))) return kid(0);
      if (e.kids[2]) return kid(2);
      return Value::undefined(fmt::format(
          "the inline if-expression on line {} evaluated to false and no else section was defined.", e.line));
    case Kind::target_attribute:
      break;
  }
  return Value();
}

Value Interp::compare(const Expr& e, Frame& f) {
  Value left = evaluate(*e.kids[0], f);
  for (std::size_t i = 0; i < e.names.size(); ++i) {
    Value right = evaluate(*e.kids[i + 1], f);
    const std::string& op = e.names[i];
    bool ok = false;
    if (op == "==")
      ok = equal(left, right, budget);
    else if (op == "!=")
      ok = !equal(left, right, budget);
    else if (op == "in")
      ok = contains(right, left, *this);
    else if (op == "not in")
      ok = !contains(right, left, *this);
    else if (op == "<")
      ok = less(left, right, "<", budget);
    else if (op == ">")
      ok = less(right, left, ">", budget);
    else if (op == "<=")
      ok = less(left, right, "<=", budget);
    else
      ok = less(right, left, ">=", budget);
    if (!ok) return Value(false);
    left = std::move(right);
  }
  return Value(true);
}

Args Interp::arguments(const Expr& e, Frame& f) {
  Args args;
  args.pos.reserve(e.kids.size() - 1);
  for (std::size_t i = 1; i < e.kids.size(); ++i) args.pos.push_back(evaluate(*e.kids[i], f));
  for (const auto& [name, value] : e.keywords) args.kw.emplace_back(name, evaluate(*value, f));
  if (e.star)
    for (Value& v : iterate(evaluate(*e.star, f), *this)) args.pos.push_back(std::move(v));
  if (e.star_star) {
    const Value v = evaluate(*e.star_star, f);
    if (!v.is_dict())
      throw Error("TypeError", fmt::format("argument after ** must be a mapping, not {}", type_name(v)));
    for (const auto& [key, value] : v.dict().items) {
      if (!key.is_str()) throw Error("TypeError", "keywords must be strings");
      for (const auto& [name, _] : args.kw)
        if (name == key.str().text)
          throw Error("TypeError", fmt::format("got multiple values for keyword argument '{}'", name));
      budget.step(1 + args.kw.size() / 16);
      args.kw.emplace_back(key.str().text, value);
    }
  }
  return args;
}

Value Interp::evaluate_call(const Expr& e, Frame& f) {
  const Value callee = evaluate(*e.kids[0], f);
  Args args = arguments(e, f);
  return call(callee, args);
}

Value Interp::call(const Value& callee, Args& args) {
  if (callee.is_undefined()) fail_undefined(callee);
  if (!callee.is_object()) throw Error("TypeError", fmt::format("'{}' object is not callable", type_name(callee)));
  const Budget::Level level(budget);
  const ObjectPtr keep = callee.object_ptr();
  return keep->call(*this, args);
}

Value Interp::evaluate_filter(const Expr& e, Frame& f) {
  const Value value = e.kids[0] ? evaluate(*e.kids[0], f) : *hole_;
  Args args = arguments(e, f);
  if (!e.filter) throw Error("TemplateRuntimeError", fmt::format("No filter named '{}' found.", e.name));
  return e.filter(*this, value, args);
}

FilterFn find_filter(std::string_view name);
TestFn find_test(std::string_view name);

Value Interp::apply_filter(std::string_view name, const Value& value, Args& args) {
  const FilterFn fn = find_filter(name);
  if (!fn) throw Error("TemplateRuntimeError", fmt::format("No filter named '{}'.", name));
  const Budget::Level level(budget);
  return fn(*this, value, args);
}

bool Interp::apply_test(std::string_view name, const Value& value, Args& args) {
  const TestFn fn = find_test(name);
  if (!fn) throw Error("TemplateRuntimeError", fmt::format("No test named '{}'.", name));
  return fn(*this, value, args);
}

// ---- signatures ----------------------------------------------------------------------------------------------------
Params::Params(Args& args, const char* function, std::initializer_list<const char*> names, std::size_t num_required)
    : function_(function), names_(names), values_(names.size(), nullptr) {
  if (args.pos.size() > names_.size())
    throw Error("TypeError",
                fmt::format("{}() takes at most {} arguments ({} given)", function, names_.size(), args.pos.size()));
  for (std::size_t i = 0; i < args.pos.size(); ++i) values_[i] = &args.pos[i];
  for (const auto& [name, value] : args.kw) {
    std::size_t i = 0;
    while (i < names_.size() && name != names_[i]) ++i;
    if (i == names_.size())
      throw Error("TypeError", fmt::format("{}() got an unexpected keyword argument '{}'", function, name));
    if (values_[i]) throw Error("TypeError", fmt::format("{}() got multiple values for argument '{}'", function, name));
    values_[i] = &value;
  }
  for (std::size_t i = 0; i < num_required; ++i)
    if (!values_[i]) throw Error("TypeError", fmt::format("{}() missing required argument '{}'", function, names_[i]));
}

bool Params::flag(std::size_t i, bool otherwise) const { return values_[i] ? truthy(*values_[i]) : otherwise; }

std::int64_t Params::index(std::size_t i, std::int64_t otherwise) const {
  return values_[i] ? as_index(*values_[i], function_.c_str()) : otherwise;
}

const Str& Params::str(std::size_t i) const {
  if (!values_[i] || !values_[i]->is_str()) {
    if (values_[i] && values_[i]->is_undefined()) fail_undefined(*values_[i]);
    throw Error("TypeError", fmt::format("{}() argument '{}' must be str, not {}", function_, names_[i],
                                         values_[i] ? type_name(*values_[i]) : "missing"));
  }
  return values_[i]->str();
}

std::optional<std::string_view> Params::text(std::size_t i) const {
  if (!values_[i] || values_[i]->is_none()) return std::nullopt;
  return str(i).view();
}

}  // namespace hearth::jinja
