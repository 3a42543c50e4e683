// type_tests.cpp — what may follow "is".
#include <fmt/format.h>

#include "text/jinja/interp.h"
#include "text/jinja/ops.h"
#include "text/jinja/parser.h"

namespace hearth::jinja {
namespace {

const Value& other(Args& args) {
  if (args.pos.size() != 1 || !args.kw.empty()) throw Error("TypeError", "this test takes one argument");
  return args.pos[0];
}
Int whole(const Value& v) {
  if (v.is_undefined()) fail_undefined(v);
  if (!v.is_int() && !v.is_bool())
    throw Error("TypeError", fmt::format("an integer was expected, not {}", type_name(v)));
  return v.whole();
}
Int remainder(const Value& v, const Value& by) {
  const Int d = whole(by);
  if (d == 0) throw Error("ZeroDivisionError", "integer modulo by zero");
  return whole(v) % d;
}

bool is_iterable(const Value& v) { return v.is_str() || v.is_list() || v.is_dict() || v.is_undefined(); }
bool is_sequence(const Value& v) {
  if (v.is_str() || v.is_dict()) return true;
  return v.is_list() && v.list().form != List::Form::iterator && v.list().form != List::Form::view;
}

template <Case how>
bool all_case(Interp& in, const Value& v) {
  const Str text = to_str(v, in);
  bool cased = false;
  for (std::size_t pos = 0; pos < text.size();) {
    const std::size_t at = pos;
    decode_char(text.text, pos);
    const Str c = slice_bytes(text, at, pos, in.budget);
    if (change_case(c, how, in.budget).text != c.text) return false;
    cased = cased || change_case(c, Case::swap, in.budget).text != c.text;
  }
  return cased;
}

struct Row {
  std::string_view name;
  TestFn fn;
};

constexpr Row kTests[] = {
    {"defined", [](Interp&, const Value& v, Args&) { return !v.is_undefined(); }},
    {"undefined", [](Interp&, const Value& v, Args&) { return v.is_undefined(); }},
    {"none", [](Interp&, const Value& v, Args&) { return v.is_none(); }},
    {"boolean", [](Interp&, const Value& v, Args&) { return v.is_bool(); }},
    {"true", [](Interp&, const Value& v, Args&) { return v.is_bool() && v.boolean(); }},
    {"false", [](Interp&, const Value& v, Args&) { return v.is_bool() && !v.boolean(); }},
    {"integer", [](Interp&, const Value& v, Args&) { return v.is_int(); }},
    {"float", [](Interp&, const Value& v, Args&) { return v.is_float(); }},
    {"number", [](Interp&, const Value& v, Args&) { return v.is_number(); }},
    {"string", [](Interp&, const Value& v, Args&) { return v.is_str(); }},
    {"mapping", [](Interp&, const Value& v, Args&) { return v.is_dict(); }},
    {"sequence", [](Interp&, const Value& v, Args&) { return is_sequence(v) || v.is_undefined(); }},
    {"iterable", [](Interp&, const Value& v, Args&) { return is_iterable(v); }},
    {"callable",
     [](Interp&, const Value& v, Args&) { return v.is_undefined() || (v.is_object() && v.object().callable()); }},
    {"escaped", [](Interp&, const Value&, Args&) { return false; }},
    {"lower", [](Interp& in, const Value& v, Args&) { return all_case<Case::lower>(in, v); }},
    {"upper", [](Interp& in, const Value& v, Args&) { return all_case<Case::upper>(in, v); }},
    {"odd", [](Interp&, const Value& v, Args&) { return remainder(v, Value(Int{2})) != 0; }},
    {"even", [](Interp&, const Value& v, Args&) { return remainder(v, Value(Int{2})) == 0; }},
    {"divisibleby", [](Interp&, const Value& v, Args& a) { return remainder(v, other(a)) == 0; }},
    {"in", [](Interp& in, const Value& v, Args& a) { return contains(other(a), v, in); }},
    {"sameas",
     [](Interp& in, const Value& v, Args& a) {
       const Value& o = other(a);
       if (v.address() || o.address()) return v.address() == o.address();
       return type_name(v) == type_name(o) && equal(v, o, in.budget);
     }},
    {"eq", [](Interp& in, const Value& v, Args& a) { return equal(v, other(a), in.budget); }},
    {"equalto", [](Interp& in, const Value& v, Args& a) { return equal(v, other(a), in.budget); }},
    {"==", [](Interp& in, const Value& v, Args& a) { return equal(v, other(a), in.budget); }},
    {"ne", [](Interp& in, const Value& v, Args& a) { return !equal(v, other(a), in.budget); }},
    {"!=", [](Interp& in, const Value& v, Args& a) { return !equal(v, other(a), in.budget); }},
    {"lt", [](Interp& in, const Value& v, Args& a) { return less(v, other(a), "<", in.budget); }},
    {"lessthan", [](Interp& in, const Value& v, Args& a) { return less(v, other(a), "<", in.budget); }},
    {"<", [](Interp& in, const Value& v, Args& a) { return less(v, other(a), "<", in.budget); }},
    {"le", [](Interp& in, const Value& v, Args& a) { return less(v, other(a), "<=", in.budget); }},
    {"<=", [](Interp& in, const Value& v, Args& a) { return less(v, other(a), "<=", in.budget); }},
    {"gt", [](Interp& in, const Value& v, Args& a) { return less(other(a), v, ">", in.budget); }},
    {"greaterthan", [](Interp& in, const Value& v, Args& a) { return less(other(a), v, ">", in.budget); }},
    {">", [](Interp& in, const Value& v, Args& a) { return less(other(a), v, ">", in.budget); }},
    {"ge", [](Interp& in, const Value& v, Args& a) { return less(other(a), v, ">=", in.budget); }},
    {">=", [](Interp& in, const Value& v, Args& a) { return less(other(a), v, ">=", in.budget); }},
    {"filter", [](Interp& in, const Value& v, Args&) { return find_filter(to_str(v, in).text) != nullptr; }},
    {"test", [](Interp& in, const Value& v, Args&) { return find_test(to_str(v, in).text) != nullptr; }},
};

}  // namespace

TestFn find_test(std::string_view name) {
  for (const Row& r : kTests)
    if (r.name == name) return r.fn;
  return nullptr;
}

}  // namespace hearth::jinja
