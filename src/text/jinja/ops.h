// ops.h — Python's operators, comparison, truth, indexing and printing on values.
//
// Errors    as Python: TypeError, ValueError, ZeroDivisionError, …; on an undefined value UndefinedError with its message.
#pragma once

#include <string>
#include <string_view>

#include "text/jinja/value.h"

namespace hearth::jinja {

bool truthy(const Value& v);
bool equal(const Value& a, const Value& b, Budget& budget);
// < as Python's; op is how the message spells it.
bool less(const Value& a, const Value& b, const char* op, Budget& budget);
bool contains(const Value& container, const Value& item, Interp& in);

enum class BinaryOp { add, sub, mul, div, floordiv, mod, pow };
Value binary(BinaryOp op, const Value& a, const Value& b, Interp& in);
Value negate(const Value& v);
Value positive(const Value& v);

// environment.getattr / getitem of Jinja: undefined when there is none.
Value get_attribute(const Value& v, std::string_view name, Interp& in);
Value get_item(const Value& v, const Value& key, Interp& in);
// Bounds are ints or none.
Value get_slice(const Value& v, const Value& start, const Value& stop, const Value& step, Interp& in);

// Items in order of iteration; dicts give keys, strings characters. An iterator is used up by it.
std::vector<Value> iterate(const Value& v, Interp& in);
std::size_t length(const Value& v);

Str to_str(const Value& v, Interp& in);  // str(v)
Str repr(const Value& v, Interp& in);    // repr(v)
std::string float_repr(double d);
std::string int_text(Int i);
// json.dumps(v, ensure_ascii=…, indent=…, separators=…, sort_keys=…)
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  std::optional<std::string> indent;  // one level
  std::string item_separator = ", ", key_separator = ": ";
};
Str to_json(const Value& v, const JsonStyle& style, Interp& in);

[[noreturn]] void fail_undefined(const Value& v);
// An int argument; bools count, floats and the rest do not.
std::int64_t as_index(const Value& v, const char* what);

}  // namespace hearth::jinja
