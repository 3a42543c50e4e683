#include <fmt/format.h>

#include "text/jinja/parser.h"

namespace hearth::jinja {

using Kind = Stmt::Kind;
using Type = Token::Type;

namespace {

std::unique_ptr<Stmt> make(Kind kind, int line) {
  auto s = std::make_unique<Stmt>();
  s->kind = kind;
  s->line = line;
  return s;
}

std::string describe(const Token& t) {
  switch (t.type) {
    case Type::data:
      return "text";
    case Type::variable_begin:
      return "'{{'";
    case Type::variable_end:
      return "'}}'";
    case Type::block_begin:
      return "'{%'";
    case Type::block_end:
      return "'%}'";
    case Type::end:
      return "the end of the template";
    case Type::string:
      return "a string";
    default:
      return "'" + (t.text.size() > 60 ? t.text.substr(0, 60) : t.text) + "'";
  }
}

// Sets a flag for the time of a scope.
template <class T>
class Within {
 public:
  Within(T& variable, T value) : variable_(variable), before_(variable) { variable_ = value; }
  ~Within() { variable_ = before_; }
  Within(const Within&) = delete;
  Within& operator=(const Within&) = delete;

 private:
  T& variable_;
  T before_;
};

}  // namespace

// ---- tokens --------------------------------------------------------------------------------------------------------
void Parser::fail(const std::string& message, int line) const { throw Error("TemplateSyntaxError", message, line); }
void Parser::fail_here(const std::string& expected) const {
  fail(fmt::format("found {}, expected {}", describe(current()), expected), current().line);
}
bool Parser::skip_op(std::string_view op) {
  if (!current().is_op(op)) return false;
  take();
  return true;
}
bool Parser::skip_name(std::string_view name) {
  if (!current().is_name(name)) return false;
  take();
  return true;
}
void Parser::expect_op(std::string_view op) {
  if (!skip_op(op)) fail_here(fmt::format("'{}'", op));
}
void Parser::expect(Type type, const char* what) {
  if (current().type != type) fail_here(what);
  take();
}
std::string Parser::expect_name() {
  if (current().type != Type::name) fail_here("a name");
  return take().text;
}

// ---- bodies --------------------------------------------------------------------------------------------------------
Template Parser::parse_template() {
  Template t;
  t.body = body_until({});
  return t;
}

Body Parser::body_until(Ends ends) {
  const Nesting nesting(*this);
  Body body;
  while (true) {
    const Token& t = current();
    if (t.type == Type::end) {
      if (ends.size() > 0) fail(fmt::format("the template ends where a '{}' was expected", *(ends.end() - 1)), t.line);
      return body;
    }
    if (t.type == Type::data) {
      auto s = make(Kind::data, t.line);
      s->text = take().text;
      body.push_back(std::move(s));
    } else if (t.type == Type::variable_begin) {
      auto s = make(Kind::print, take().line);
      s->expr = tuple(true);
      expect(Type::variable_end, "'}}'");
      body.push_back(std::move(s));
    } else {
      expect(Type::block_begin, "'{%'");
      for (std::string_view end : ends)
        if (current().is_name(end)) return body;
      body.push_back(statement());
      expect(Type::block_end, "'%}'");
    }
  }
}

Body Parser::block(Ends ends) {
  skip_op(":");
  expect(Type::block_end, "'%}'");
  return body_until(ends);
}

std::unique_ptr<Stmt> Parser::statement() {
  const Token& t = current();
  if (t.type != Type::name) fail_here("the name of a tag");
  if (t.text == "if") return branch_statement();
  if (t.text == "for") return loop_statement();
  if (t.text == "set") return set_statement();
  if (t.text == "macro") return macro_statement();
  if (t.text == "call") return call_statement();
  if (t.text == "with") return with_statement();
  if (t.text == "generation") return scoped_statement(Kind::scope, "endgeneration");
  if (t.text == "filter") return scoped_statement(Kind::filter_block, "endfilter");
  if (t.text == "break" || t.text == "continue") {
    if (loops_ == 0) fail(fmt::format("'{}' outside a loop", t.text), t.line);
    return make(take().text == "break" ? Kind::stop : Kind::next, t.line);
  }
  if (t.text == "do" || t.text == "print") {
    auto s = make(t.text == "do" ? Kind::evaluate : Kind::print, take().line);
    s->expr = tuple(true);
    return s;
  }
  if (t.text == "block") return scoped_statement(Kind::scope, "endblock");
  for (std::string_view other : {"include", "import", "from", "extends"})
    if (t.text == other)
      fail(fmt::format("tag '{}' reads another template; a chat template is one file", t.text), t.line);
  fail(fmt::format("unknown tag '{}'", t.text), t.line);
}

// ---- statements ----------------------------------------------------------------------------------------------------
std::unique_ptr<Stmt> Parser::branch_statement() {
  auto s = make(Kind::branch, take().line);
  const Within soft(soft_, true);
  ExprPtr condition = tuple(false);
  while (true) {
    Body body = block({"elif", "else", "endif"});
    s->branches.emplace_back(std::move(condition), std::move(body));
    const std::string end = take().text;
    if (end == "endif") return s;
    if (end == "elif") {
      condition = tuple(false);
      continue;
    }
    s->branches.emplace_back(nullptr, block({"endif"}));
    take();
    return s;
  }
}

std::unique_ptr<Stmt> Parser::loop_statement() {
  auto s = make(Kind::loop, take().line);
  s->target = assign_target("in", false);
  if (!skip_name("in")) fail_here("'in'");
  s->expr = tuple(false, "recursive");
  const Within soft(soft_, false);
  if (skip_name("if")) s->condition = expression();
  const std::size_t macros_before = num_macros_;
  s->recursive = skip_name("recursive");
  if (s->recursive) ++num_macros_;  // loop() reads the frames outside, like a macro
  {
    const Within loops(loops_, loops_ + 1);
    s->body = block({"else", "endfor"});
  }
  s->keeps_frames = num_macros_ != macros_before;
  if (take().text == "else") {
    s->otherwise = block({"endfor"});
    take();
  }
  return s;
}

std::unique_ptr<Stmt> Parser::set_statement() {
  auto s = make(Kind::set, take().line);
  s->target = assign_target({}, true);
  if (skip_op("=")) {
    s->expr = tuple(true);
    return s;
  }
  s->kind = Kind::set_block;
  while (skip_op("|")) s->expr = filter(std::move(s->expr));
  const Within soft(soft_, false);
  const Within loops(loops_, 0);
  s->body = block({"endset"});
  take();
  return s;
}

void Parser::signature(Macro& macro) {
  expect_op("(");
  while (!current().is_op(")")) {
    if (!macro.params.empty()) expect_op(",");
    if (current().is_op(")")) break;
    macro.params.push_back(expect_name());
    if (skip_op("="))
      macro.defaults.push_back(expression());
    else if (!macro.defaults.empty())
      fail("a parameter without a default follows one with a default", current().line);
  }
  expect_op(")");
}

void Parser::macro_body(Macro& macro, std::string_view end) {
  const Within soft(soft_, false);
  const Within loops(loops_, 0);
  ++num_macros_;
  open_macros_.emplace_back();
  macro.body = block({end});
  take();
  macro.uses_caller = open_macros_.back().caller;
  macro.uses_varargs = open_macros_.back().varargs;
  macro.uses_kwargs = open_macros_.back().kwargs;
  open_macros_.pop_back();
}

std::unique_ptr<Stmt> Parser::macro_statement() {
  auto s = make(Kind::macro, take().line);
  s->macro.line = s->line;
  s->macro.name = expect_name();
  signature(s->macro);
  macro_body(s->macro, "endmacro");
  return s;
}

std::unique_ptr<Stmt> Parser::call_statement() {
  auto s = make(Kind::call_block, take().line);
  s->macro.line = s->line;
  s->macro.name = "caller";
  if (current().is_op("(")) signature(s->macro);
  s->expr = expression();
  if (s->expr->kind != Expr::Kind::call) fail("a 'call' block needs a call, as in {% call name(…) %}", s->line);
  macro_body(s->macro, "endcall");
  return s;
}

std::unique_ptr<Stmt> Parser::with_statement() {
  auto s = make(Kind::with, take().line);
  while (current().type != Type::block_end) {
    if (!s->assignments.empty()) expect_op(",");
    ExprPtr target = assign_target({}, false);
    expect_op("=");
    s->assignments.emplace_back(std::move(target), expression());
  }
  const Within soft(soft_, false);
  s->body = block({"endwith"});
  take();
  return s;
}

std::unique_ptr<Stmt> Parser::scoped_statement(Kind kind, std::string_view end) {
  auto s = make(kind, take().line);
  if (end == "endblock") expect_name();
  if (kind == Kind::filter_block) {
    s->expr = filter(nullptr);
    while (skip_op("|")) s->expr = filter(std::move(s->expr));
  }
  const Within soft(soft_, false);
  const Within loops(loops_, 0);
  s->body = block({end});
  take();
  if (end == "endblock" && current().type == Type::name) take();
  return s;
}

Template parse(std::string_view source) {
  if (!valid_utf8(source)) throw Error("TemplateSyntaxError", "the template is not valid UTF-8", 1);
  return Parser(tokenize(source)).parse_template();
}

}  // namespace hearth::jinja
