// value.h — what a template computes with: Python's values, as far as templates use them.
//
// Owns      shared, immutable contents; only namespaces and iterators change, and those belong to one rendering.
// Limits    lists and dicts nest at most kMaxNesting deep, so that printing, comparing and freeing them cannot overflow the stack.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/str.h"

namespace hearth::jinja {

class Interp;
class Value;
struct List;
struct Dict;
struct Args;

__extension__ typedef __int128 Int;  // JSON's unsigned 64-bit numbers print as they came

struct None {};
struct Undefined {
  std::string message;  // what an operation on it says
  const char* kind = "UndefinedError";
};

// Anything with attributes or that can be called: macros, functions, loop, namespace.
class Object {
 public:
  virtual ~Object() = default;
  virtual std::string_view type_name() const = 0;
  virtual std::optional<Value> attribute(std::string_view name, Interp& in);
  virtual bool callable() const { return false; }
  virtual Value call(Interp& in, Args& args);
  virtual Str repr(Interp& in);
  virtual void release() {}  // drops the values it holds
};

using UndefinedPtr = std::shared_ptr<const Undefined>;
using StrPtr = std::shared_ptr<const Str>;
using ListPtr = std::shared_ptr<const List>;
using DictPtr = std::shared_ptr<const Dict>;
using ObjectPtr = std::shared_ptr<Object>;

class Value {
 public:
  Value() : v_(None{}) {}
  Value(bool b) : v_(b) {}                                         // NOLINT: implicit by design, here and below
  Value(Int i) : v_(i) {}                                          // NOLINT
  Value(double d) : v_(d) {}                                       // NOLINT
  Value(Str s) : v_(std::make_shared<const Str>(std::move(s))) {}  // NOLINT
  Value(UndefinedPtr u) : v_(std::move(u)) {}                      // NOLINT
  Value(StrPtr s) : v_(std::move(s)) {}                            // NOLINT
  Value(ListPtr l) : v_(std::move(l)) {}                           // NOLINT
  Value(DictPtr d) : v_(std::move(d)) {}                           // NOLINT
  Value(ObjectPtr o) : v_(std::move(o)) {}                         // NOLINT
  static Value integer(std::size_t n) { return Value(static_cast<Int>(n)); }
  static Value undefined(std::string message, const char* kind = "UndefinedError") {
    return Value(std::make_shared<const Undefined>(Undefined{std::move(message), kind}));
  }

  bool is_undefined() const { return std::holds_alternative<UndefinedPtr>(v_); }
  bool is_none() const { return std::holds_alternative<None>(v_); }
  bool is_bool() const { return std::holds_alternative<bool>(v_); }
  bool is_int() const { return std::holds_alternative<Int>(v_); }  // not a bool
  bool is_float() const { return std::holds_alternative<double>(v_); }
  bool is_number() const { return is_bool() || is_int() || is_float(); }
  bool is_str() const { return std::holds_alternative<StrPtr>(v_); }
  bool is_list() const { return std::holds_alternative<ListPtr>(v_); }  // any sequence form
  bool is_dict() const { return std::holds_alternative<DictPtr>(v_); }
  bool is_object() const { return std::holds_alternative<ObjectPtr>(v_); }

  const Undefined& undefined() const { return *std::get<UndefinedPtr>(v_); }
  bool boolean() const { return std::get<bool>(v_); }
  Int whole() const { return is_bool() ? Int{boolean()} : std::get<Int>(v_); }  // bool or int
  double real() const { return is_float() ? std::get<double>(v_) : static_cast<double>(whole()); }
  const Str& str() const { return *std::get<StrPtr>(v_); }
  const List& list() const { return *std::get<ListPtr>(v_); }
  const ListPtr& list_ptr() const { return std::get<ListPtr>(v_); }
  const Dict& dict() const { return *std::get<DictPtr>(v_); }
  const DictPtr& dict_ptr() const { return std::get<DictPtr>(v_); }
  Object& object() const { return *std::get<ObjectPtr>(v_); }
  const ObjectPtr& object_ptr() const { return std::get<ObjectPtr>(v_); }
  const void* address() const;  // of shared contents; null for scalars

 private:
  std::variant<UndefinedPtr, None, bool, Int, double, StrPtr, ListPtr, DictPtr, ObjectPtr> v_;
};

constexpr int kMaxNesting = 700;

struct List {
  enum class Form { list, tuple, range, view, iterator };
  Form form = Form::list;
  std::vector<Value> items;
  std::string name;                                  // range and view: how printing begins
  const std::vector<std::string>* fields = nullptr;  // a tuple with named fields
  int nesting = 1;
  mutable std::size_t taken = 0;  // iterator: how many are gone
};

struct Dict {
  std::vector<std::pair<Value, Value>> items;  // in order of first insertion
  int nesting = 1;

  const Value* find(const Value& key) const;  // null when absent
  const Value* find(std::string_view key) const;
  void set(Value key, Value value);  // only while it is being made

 private:
  std::unordered_map<std::string, std::size_t> by_text_;  // of large dicts
  std::optional<std::size_t> index_of(const Value& key) const;
};

Value make_list(std::vector<Value> items, List::Form form = List::Form::list, std::string name = {});
inline Value make_tuple(std::vector<Value> items) { return make_list(std::move(items), List::Form::tuple); }
inline Value make_iterator(std::vector<Value> items) { return make_list(std::move(items), List::Form::iterator); }
Value make_dict(Dict dict);  // computes the nesting

struct Args {
  std::vector<Value> pos;
  std::vector<std::pair<std::string, Value>> kw;
};

std::string type_name(const Value& v);  // Python's: str, int, NoneType, dict, …
bool is_hashable(const Value& v);

}  // namespace hearth::jinja
