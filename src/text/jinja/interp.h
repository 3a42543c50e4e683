// interp.h — walks a Template and writes its output. One Interp is one rendering.
//
// Owns      the frames of variables and every object that can change while rendering; all are cleared at its end, so that values
//           referring to each other through them are freed.
// Scopes    for bodies, macros, set/filter/call blocks and with have their own; if has none. A name is looked up from the
//           inside out, then among the variables given to render, then among the globals.
// Errors    throws Error with the line of the statement that was running.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/budget.h"
#include "text/jinja/value.h"

namespace hearth::jinja {

struct Frame {
  const Frame* outer = nullptr;
  std::vector<std::pair<std::string, Value>> names;
  const Value* find(std::string_view name, std::size_t& seen) const;  // here or outside; counts the names it looked at
  void set(std::string_view name, Value value);                       // here
};

class Namespace final : public Object {
 public:
  std::string_view type_name() const override { return "Namespace"; }
  std::optional<Value> attribute(std::string_view name, Interp& in) override;
  Str repr(Interp& in) override;
  void release() override { names.clear(); }
  std::vector<std::pair<std::string, Value>> names;
  void set(std::string_view name, Value value);
};

class Interp {
 public:
  explicit Interp(Budget limits) : budget(limits) {}
  ~Interp();
  Interp(const Interp&) = delete;
  Interp& operator=(const Interp&) = delete;

  void set_variable(std::string_view name, Value value) { root_.set(name, std::move(value)); }
  Str render(const Template& t);

  // ---- for the parts of the engine
  Budget budget;
  Value evaluate(const Expr& e, Frame& f);
  Value call(const Value& callee, Args& args);
  Value call_macro(const Macro& macro, const Frame* closure, Args& args);
  Value apply_filter(std::string_view name, const Value& value, Args& args);
  bool apply_test(std::string_view name, const Value& value, Args& args);
  std::shared_ptr<Namespace> new_namespace();
  void release_at_end(ObjectPtr object);  // it may come to hold itself
  // The body of one round of a loop (also when loop() calls itself).
  Str render_loop(const Stmt& loop, const std::vector<Value>& items, const Frame& outer, int depth);

 private:
  enum class Flow { go_on, stop, next };
  Flow run(const Body& body, Frame& f, StrBuilder& out);
  Flow run(const Stmt& s, Frame& f, StrBuilder& out);
  Flow branch(const Stmt& s, Frame& f, StrBuilder& out);
  void loop(const Stmt& s, const Value& over, const Frame& outer, int depth, StrBuilder& out);
  void set(const Stmt& s, Frame& f);
  void call_block(const Stmt& s, Frame& f, StrBuilder& out);
  Str run_scoped(const Body& body, const Frame& outer);
  void assign(const Expr& target, Value value, Frame& f);
  Frame& keep_frame(const Frame* outer);

  Value evaluate_call(const Expr& e, Frame& f);
  Value evaluate_filter(const Expr& e, Frame& f);
  Value compare(const Expr& e, Frame& f);
  Args arguments(const Expr& e, Frame& f);
  Value lookup(const std::string& name, const Frame& f);

  Frame root_;
  std::deque<Frame> frames_;
  std::vector<ObjectPtr> released_at_end_;
  const Value* hole_ = nullptr;  // what a filter block filters
};

// range, dict, namespace, raise_exception, …; none when there is no such global.
std::optional<Value> find_global(std::string_view name);
// A method of a str, list, dict …, bound to the value.
std::optional<Value> find_method(const Value& v, std::string_view name);

using NativeFn = Value (*)(Interp& in, const Value& self, Args& args);
class Function final : public Object {  // a global (self is none) or a bound method
 public:
  Function(NativeFn fn, Value self) : fn_(fn), self_(std::move(self)) {}
  std::string_view type_name() const override { return "builtin_function_or_method"; }
  bool callable() const override { return true; }
  Value call(Interp& in, Args& args) override { return fn_(in, self_, args); }

 private:
  NativeFn fn_;
  Value self_;
};

// Arguments by position or by name, as a Python signature would take them.
class Params {
 public:
  Params(Args& args, const char* function, std::initializer_list<const char*> names, std::size_t num_required = 0);
  const Value* operator[](std::size_t i) const { return values_[i]; }  // null when not given
  const Value& required(std::size_t i) const { return *values_[i]; }
  bool flag(std::size_t i, bool otherwise) const;
  std::int64_t index(std::size_t i, std::int64_t otherwise) const;
  const Str& str(std::size_t i) const;                        // TypeError when it is none
  std::optional<std::string_view> text(std::size_t i) const;  // absent or none: nullopt

 private:
  std::string function_;
  std::vector<const char*> names_;
  std::vector<const Value*> values_;
};

}  // namespace hearth::jinja
