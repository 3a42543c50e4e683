// ops.cpp — truth, equality, order, membership, arithmetic.
#include "text/jinja/ops.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/jinja/format.h"
#include "text/jinja/interp.h"

namespace hearth::jinja {

void fail_undefined(const Value& v) { throw Error(v.undefined().kind, v.undefined().message); }

namespace {

void refuse_undefined(const Value& a, const Value& b) {
  if (a.is_undefined()) fail_undefined(a);
  if (b.is_undefined()) fail_undefined(b);
}

[[noreturn]] void unsupported(const char* op, const Value& a, const Value& b) {
  throw Error("TypeError",
              fmt::format("unsupported operand type(s) for {}: '{}' and '{}'", op, type_name(a), type_name(b)));
}
[[noreturn]] void overflow() { throw Error("OverflowError", "integer is too large"); }

// Every integer of a template has its negative: the lowest of the type is too large.
Value integer(Int v) {
  Int negative = 0;
  if (__builtin_sub_overflow(Int{0}, v, &negative)) overflow();
  return Value(v);
}

}  // namespace

std::int64_t as_index(const Value& v, const char* what) {
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is_int() && !v.is_bool())
    throw Error("TypeError", fmt::format("{}: '{}' object cannot be interpreted as an integer", what, type_name(v)));
  const Int i = v.whole();
  constexpr Int kMax = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::clamp(i, -kMax, kMax));
}

bool truthy(const Value& v) {
  if (v.is_undefined() || v.is_none()) return false;
  if (v.is_bool()) return v.boolean();
  if (v.is_int()) return v.whole() != 0;
  if (v.is_float()) return v.real() != 0;
  if (v.is_str()) return v.str().size() > 0;
  if (v.is_list()) return v.list().form == List::Form::iterator || !v.list().items.empty();
  if (v.is_dict()) return !v.dict().items.empty();
  return true;
}

// ---- comparison ----------------------------------------------------------------------------------------------------
bool equal(const Value& a, const Value& b, Budget& budget) {
  budget.step();
  if (a.is_undefined() || b.is_undefined()) return a.is_undefined() && b.is_undefined();
  if (a.is_none() || b.is_none()) return a.is_none() && b.is_none();
  if (a.is_number() && b.is_number()) {
    if (a.is_float() || b.is_float()) return a.real() == b.real();
    return a.whole() == b.whole();
  }
  if (a.is_str() && b.is_str()) {
    if (a.str().size() != b.str().size()) return false;
    budget.scan(a.str().size());
    return a.str().text == b.str().text;
  }
  if (a.is_object() || b.is_object()) return a.is_object() && b.is_object() && a.address() == b.address();
  const Budget::Level level(budget);
  if (a.is_list() && b.is_list()) {
    const List &x = a.list(), &y = b.list();
    if (&x == &y) return true;
    if (x.form != y.form || x.form == List::Form::iterator || x.items.size() != y.items.size()) return false;
    for (std::size_t i = 0; i < x.items.size(); ++i)
      if (!equal(x.items[i], y.items[i], budget)) return false;
    return true;
  }
  if (a.is_dict() && b.is_dict()) {
    const Dict &x = a.dict(), &y = b.dict();
    if (x.items.size() != y.items.size()) return false;
    for (const auto& [key, value] : x.items) {
      budget.step(1 + y.items.size() / 16);
      const Value* other = y.find(key);
      if (!other || !equal(value, *other, budget)) return false;
    }
    return true;
  }
  return false;
}

bool less(const Value& a, const Value& b, const char* op, Budget& budget) {
  budget.step();
  const bool or_equal = op[1] == '=';
  refuse_undefined(op[0] == '>' ? b : a, op[0] == '>' ? a : b);
  if (a.is_number() && b.is_number()) {
    if (a.is_float() || b.is_float()) return or_equal ? a.real() <= b.real() : a.real() < b.real();
    return or_equal ? a.whole() <= b.whole() : a.whole() < b.whole();
  }
  if (a.is_str() && b.is_str()) {  // UTF-8 sorts as code points do
    budget.scan(std::min(a.str().size(), b.str().size()));
    return or_equal ? a.str().text <= b.str().text : a.str().text < b.str().text;
  }
  if (a.is_list() && b.is_list() && a.list().form == b.list().form &&
      (a.list().form == List::Form::list || a.list().form == List::Form::tuple)) {
    const Budget::Level level(budget);
    const auto &x = a.list().items, &y = b.list().items;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
      if (!equal(x[i], y[i], budget)) return less(x[i], y[i], op, budget);
    return or_equal ? x.size() <= y.size() : x.size() < y.size();
  }
  const bool swapped = op[0] == '>';
  throw Error("TypeError", fmt::format("'{}' not supported between instances of '{}' and '{}'", op,
                                       type_name(swapped ? b : a), type_name(swapped ? a : b)));
}

bool contains(const Value& container, const Value& item, Interp& in) {
  if (container.is_str()) {
    if (item.is_undefined()) fail_undefined(item);
    if (!item.is_str())
      throw Error("TypeError", fmt::format("'in <string>' requires string as left operand, not {}", type_name(item)));
    in.budget.scan(container.str().size());
    return find_text(container.str().text, item.str().text) != kNotFound;
  }
  if (container.is_dict()) {
    if (!is_hashable(item)) throw Error("TypeError", fmt::format("unhashable type: '{}'", type_name(item)));
    in.budget.step(1 + container.dict().items.size() / 16);
    return container.dict().find(item) != nullptr;
  }
  if (container.is_list() && container.list().form != List::Form::iterator) {
    for (const Value& v : container.list().items)
      if (equal(v, item, in.budget)) return true;
    return false;
  }
  if (!container.is_list() && !container.is_undefined())
    throw Error("TypeError", fmt::format("argument of type '{}' is not iterable", type_name(container)));
  for (const Value& v : iterate(container, in))
    if (equal(v, item, in.budget)) return true;
  return false;
}

// ---- arithmetic ----------------------------------------------------------------------------------------------------
namespace {

constexpr const char* kOpText[] = {"+", "-", "*", "/", "//", "%", "** or pow()"};

Int floor_div(Int a, Int b) { return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0); }
Int floor_mod(Int a, Int b) { return a - floor_div(a, b) * b; }

Value int_power(Int base, Int exponent) {
  if (exponent < 0) {
    if (base == 0) throw Error("ZeroDivisionError", "0.0 cannot be raised to a negative power");
    return Value(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
  }
  if (base == 0 || base == 1) return Value(exponent == 0 ? Int{1} : base);
  if (base == -1) return Value(exponent % 2 == 0 ? Int{1} : Int{-1});
  if (exponent > 128) overflow();
  Int r = 1;
  for (Int i = 0; i < exponent; ++i)
    if (__builtin_mul_overflow(r, base, &r)) overflow();
  return integer(r);
}

Value int_arithmetic(BinaryOp op, Int a, Int b) {
  Int r = 0;
  switch (op) {
    case BinaryOp::add:
      if (__builtin_add_overflow(a, b, &r)) overflow();
      return integer(r);
    case BinaryOp::sub:
      if (__builtin_sub_overflow(a, b, &r)) overflow();
      return integer(r);
    case BinaryOp::mul:
      if (__builtin_mul_overflow(a, b, &r)) overflow();
      return integer(r);
    case BinaryOp::div:
      if (b == 0) throw Error("ZeroDivisionError", "division by zero");
      return Value(static_cast<double>(a) / static_cast<double>(b));
    case BinaryOp::floordiv:
    case BinaryOp::mod:
      if (b == 0) throw Error("ZeroDivisionError", "integer division or modulo by zero");
      if (b == -1) return op == BinaryOp::mod ? Value(Int{0}) : int_arithmetic(BinaryOp::sub, 0, a);
      return Value(op == BinaryOp::mod ? floor_mod(a, b) : floor_div(a, b));
    case BinaryOp::pow:
      return int_power(a, b);
  }
  return Value(r);
}

Value float_arithmetic(BinaryOp op, double a, double b) {
  switch (op) {
    case BinaryOp::add:
      return Value(a + b);
    case BinaryOp::sub:
      return Value(a - b);
    case BinaryOp::mul:
      return Value(a * b);
    case BinaryOp::div:
      if (b == 0) throw Error("ZeroDivisionError", "float division by zero");
      return Value(a / b);
    case BinaryOp::floordiv:
      if (b == 0) throw Error("ZeroDivisionError", "float floor division by zero");
      return Value(std::floor(a / b));
    case BinaryOp::mod: {
      if (b == 0) throw Error("ZeroDivisionError", "float modulo");
      double m = std::fmod(a, b);
      if (m != 0 && (m < 0) != (b < 0)) m += b;
      return Value(m);
    }
    case BinaryOp::pow:
      return Value(std::pow(a, b));
  }
  return Value(0.0);
}

Value repeated(const Value& sequence, const Value& times, Interp& in) {
  const std::int64_t n = std::max<std::int64_t>(as_index(times, "*"), 0);
  if (sequence.is_str()) return Value(repeat(sequence.str(), static_cast<std::size_t>(n), in.budget));
  std::vector<Value> items;
  if (sequence.list().items.empty()) return make_list({}, sequence.list().form);
  for (std::int64_t i = 0; i < n; ++i) {
    in.budget.values(sequence.list().items.size());
    items.insert(items.end(), sequence.list().items.begin(), sequence.list().items.end());
  }
  return make_list(std::move(items), sequence.list().form);
}

bool is_plain_sequence(const Value& v) {
  return v.is_list() && (v.list().form == List::Form::list || v.list().form == List::Form::tuple);
}

}  // namespace

Value binary(BinaryOp op, const Value& a, const Value& b, Interp& in) {
  if (op == BinaryOp::mod && a.is_str()) return format_percent(a.str(), b, in);
  refuse_undefined(a, b);
  if (a.is_number() && b.is_number()) {
    if (a.is_float() || b.is_float()) return float_arithmetic(op, a.real(), b.real());
    return int_arithmetic(op, a.whole(), b.whole());
  }
  if (op == BinaryOp::add) {
    if (a.is_str() && b.is_str()) return Value(concat(a.str(), b.str(), in.budget));
    if (a.is_str()) throw Error("TypeError", fmt::format("can only concatenate str (not \"{}\") to str", type_name(b)));
    if (is_plain_sequence(a) && b.is_list() && a.list().form == b.list().form) {
      std::vector<Value> items;
      in.budget.values(a.list().items.size() + b.list().items.size());
      items.reserve(a.list().items.size() + b.list().items.size());
      items = a.list().items;
      items.insert(items.end(), b.list().items.begin(), b.list().items.end());
      return make_list(std::move(items), a.list().form);
    }
    if (is_plain_sequence(a))
      throw Error("TypeError",
                  fmt::format("can only concatenate {0} (not \"{1}\") to {0}", type_name(a), type_name(b)));
  }
  if (op == BinaryOp::mul) {
    if ((a.is_str() || is_plain_sequence(a)) && (b.is_int() || b.is_bool())) return repeated(a, b, in);
    if ((b.is_str() || is_plain_sequence(b)) && (a.is_int() || a.is_bool())) return repeated(b, a, in);
  }
  unsupported(kOpText[static_cast<int>(op)], a, b);
}

Value negate(const Value& v) {
  if (v.is_undefined()) fail_undefined(v);
  if (v.is_float()) return Value(-v.real());
  if (!v.is_number()) throw Error("TypeError", fmt::format("bad operand type for unary -: '{}'", type_name(v)));
  return int_arithmetic(BinaryOp::sub, 0, v.whole());
}

Value positive(const Value& v) {
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is_number()) throw Error("TypeError", fmt::format("bad operand type for unary +: '{}'", type_name(v)));
  return v.is_bool() ? Value(v.whole()) : v;
}

}  // namespace hearth::jinja
