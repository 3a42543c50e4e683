// ast.h — a parsed template. Immutable after parsing; any number of renderings may read it at once.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "text/jinja/value.h"

namespace hearth::jinja {

struct Expr;
struct Stmt;
using ExprPtr = std::unique_ptr<Expr>;
using Body = std::vector<std::unique_ptr<Stmt>>;

// Both are called with the value first.
using FilterFn = Value (*)(Interp& in, const Value& value, Args& args);
using TestFn = bool (*)(Interp& in, const Value& value, Args& args);

struct Expr {
  enum class Kind {
    literal,  // value
    name,     // name
    list,
    tuple,      // kids
    dict,       // kids: key, value, key, value, …
    attribute,  // kids[0] . name
    item,       // kids[0] [ kids[1] ]
    slice,      // kids[0] [ kids[1] : kids[2] : kids[3] ], any bound may be null
    call,       // kids[0] ( kids[1]… , keywords, *star, **star_star )
    filter,     // kids[0] | name ( kids[1]… ); kids[0] is null inside a filter block
    test,       // kids[0] is name ( kids[1]… )
    negate,
    positive,
    logical_not,
    logical_and,
    logical_or,
    binary,            // op
    compare,           // kids[0] names[0] kids[1] names[1] kids[2] …
    concat,            // kids joined by ~
    conditional,       // kids[0] if kids[1] else kids[2] (may be null)
    target_attribute,  // in assignments: name . names[0]
  };
  Kind kind;
  int line = 0;
  int depth = 1;
  std::string name;
  std::vector<std::string> names;
  int op = 0;
  Value value;
  std::vector<ExprPtr> kids;
  std::vector<std::pair<std::string, ExprPtr>> keywords;
  ExprPtr star, star_star;
  FilterFn filter = nullptr;
  TestFn test = nullptr;
};

struct Macro {
  std::string name;
  std::vector<std::string> params;
  std::vector<ExprPtr> defaults;  // of the last params
  Body body;
  bool uses_caller = false, uses_varargs = false, uses_kwargs = false;
  int line = 0;
};

struct Stmt {
  enum class Kind {
    data,
    print,
    branch,
    loop,
    set,
    set_block,
    macro,
    call_block,
    filter_block,
    scope,
    with,
    evaluate,
    stop,
    next
  };
  Kind kind;
  int line = 0;
  std::string text;   // data
  ExprPtr expr;       // print, set, evaluate; loop: what is iterated; filters of set_block, filter_block
  ExprPtr target;     // set, set_block, loop
  ExprPtr condition;  // loop: the filter
  std::vector<std::pair<ExprPtr, Body>> branches;        // branch: a null condition is "else"
  std::vector<std::pair<ExprPtr, ExprPtr>> assignments;  // with
  Body body, otherwise;                                  // loop: otherwise is its "else"
  Macro macro;                                           // macro, call_block
  bool recursive = false;
  bool keeps_frames = false;  // loop: a macro inside may outlive one round
};

struct Template {
  Body body;
};

Template parse(std::string_view source);

}  // namespace hearth::jinja
