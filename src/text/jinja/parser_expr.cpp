#include <fmt/format.h>

#include <algorithm>

#include "text/jinja/parser.h"

namespace hearth::jinja {

using Kind = Expr::Kind;
using Type = Token::Type;

ExprPtr Parser::node(Kind kind, int line) const {
  auto e = std::make_unique<Expr>();
  e->kind = kind;
  e->line = line;
  return e;
}

ExprPtr Parser::done(ExprPtr e) const {
  int below = 0;
  for (const ExprPtr& k : e->kids)
    if (k) below = std::max(below, k->depth);
  for (const auto& [name, k] : e->keywords) below = std::max(below, k->depth);
  if (e->star) below = std::max(below, e->star->depth);
  if (e->star_star) below = std::max(below, e->star_star->depth);
  e->depth = below + 1;
  if (e->depth > kMaxSyntaxDepth) fail("the expression is too long: split it with set", e->line);
  return e;
}

ExprPtr Parser::expression(bool with_conditional) {
  const Nesting nesting(*this);
  return with_conditional ? conditional() : logical_or();
}

ExprPtr Parser::conditional() {
  const bool soft_outside = soft_;
  // Whether an "if" follows is known only afterwards, so names inside count as soft where one follows in this expression.
  const std::size_t begin = pos_;
  int open = 0;
  for (std::size_t i = begin; i < tokens_.size(); ++i) {
    const Token& t = tokens_[i];
    if (t.type == Type::block_end || t.type == Type::variable_end || t.type == Type::end) break;
    if (t.type == Type::op && (t.text == "(" || t.text == "[" || t.text == "{")) ++open;
    if (t.type == Type::op && (t.text == ")" || t.text == "]" || t.text == "}") && --open < 0) break;
    if (open == 0 && t.is_op(",")) break;
    if (open == 0 && t.is_name("if")) {
      soft_ = true;
      break;
    }
  }
  ExprPtr e = logical_or();
  while (current().is_name("if")) {
    ExprPtr c = node(Kind::conditional, take().line);
    ExprPtr condition = logical_or();
    ExprPtr otherwise = skip_name("else") ? expression() : nullptr;
    c->kids.push_back(std::move(e));
    c->kids.push_back(std::move(condition));
    c->kids.push_back(std::move(otherwise));
    e = done(std::move(c));
  }
  soft_ = soft_outside;
  return e;
}

ExprPtr Parser::logical_or() {
  ExprPtr left = logical_and();
  while (current().is_name("or")) {
    ExprPtr e = node(Kind::logical_or, take().line);
    e->kids.push_back(std::move(left));
    e->kids.push_back(logical_and());
    left = done(std::move(e));
  }
  return left;
}

ExprPtr Parser::logical_and() {
  ExprPtr left = logical_not();
  while (current().is_name("and")) {
    ExprPtr e = node(Kind::logical_and, take().line);
    e->kids.push_back(std::move(left));
    e->kids.push_back(logical_not());
    left = done(std::move(e));
  }
  return left;
}

ExprPtr Parser::logical_not() {
  if (!current().is_name("not")) return comparison();
  const Nesting nesting(*this);
  ExprPtr e = node(Kind::logical_not, take().line);
  e->kids.push_back(logical_not());
  return done(std::move(e));
}

ExprPtr Parser::comparison() {
  static constexpr std::string_view kOps[] = {"==", "!=", "<", "<=", ">", ">="};
  ExprPtr first = sum();
  ExprPtr e;
  while (true) {
    std::string op;
    if (current().type == Type::op && std::find(std::begin(kOps), std::end(kOps), current().text) != std::end(kOps)) {
      op = take().text;
    } else if (skip_name("in")) {
      op = "in";
    } else if (current().is_name("not") && look().is_name("in")) {
      take(), take();
      op = "not in";
    } else {
      break;
    }
    if (!e) {
      e = node(Kind::compare, first->line);
      e->kids.push_back(std::move(first));
    }
    e->names.push_back(std::move(op));
    e->kids.push_back(sum());
  }
  return e ? done(std::move(e)) : std::move(first);
}

namespace {
ExprPtr binary(ExprPtr e, int op, ExprPtr left, ExprPtr right) {
  e->op = op;
  e->kids.push_back(std::move(left));
  e->kids.push_back(std::move(right));
  return e;
}
}  // namespace

// The values of op are those of BinaryOp in ops.h: + - * / // % **.
ExprPtr Parser::sum() {
  ExprPtr left = concatenation();
  while (current().is_op("+") || current().is_op("-")) {
    const Token& t = take();
    ExprPtr e = node(Kind::binary, t.line);
    left = done(binary(std::move(e), t.text == "+" ? 0 : 1, std::move(left), concatenation()));
  }
  return left;
}

ExprPtr Parser::concatenation() {
  ExprPtr first = product();
  if (!current().is_op("~")) return first;
  ExprPtr e = node(Kind::concat, first->line);
  e->kids.push_back(std::move(first));
  while (skip_op("~")) e->kids.push_back(product());
  return done(std::move(e));
}

ExprPtr Parser::product() {
  static constexpr std::string_view kOps[] = {"*", "/", "//", "%"};
  ExprPtr left = power();
  while (current().type == Type::op) {
    const auto* op = std::find(std::begin(kOps), std::end(kOps), current().text);
    if (op == std::end(kOps)) break;
    ExprPtr e = node(Kind::binary, take().line);
    left = done(binary(std::move(e), 2 + static_cast<int>(op - std::begin(kOps)), std::move(left), power()));
  }
  return left;
}

ExprPtr Parser::power() {
  ExprPtr left = unary();
  while (current().is_op("**")) {
    ExprPtr e = node(Kind::binary, take().line);
    left = done(binary(std::move(e), 6, std::move(left), unary()));
  }
  return left;
}

ExprPtr Parser::unary(bool with_filter) {
  const Nesting nesting(*this);
  ExprPtr e;
  if (current().is_op("-") || current().is_op("+")) {
    const Token& t = take();
    e = node(t.text == "-" ? Kind::negate : Kind::positive, t.line);
    e->kids.push_back(unary(false));
    e = done(std::move(e));
  } else {
    e = primary();
  }
  e = postfix(std::move(e));
  return with_filter ? filters(std::move(e)) : std::move(e);
}

ExprPtr Parser::primary() {
  const Token& t = current();
  ExprPtr e = node(Kind::literal, t.line);
  if (t.type == Type::name) {
    take();
    if (t.text == "true" || t.text == "True")
      e->value = Value(true);
    else if (t.text == "false" || t.text == "False")
      e->value = Value(false);
    else if (t.text == "none" || t.text == "None")
      e->value = Value();
    else {
      e->kind = Kind::name;
      e->name = t.text;
      for (Macros& m : open_macros_) {
        m.caller |= t.text == "caller";
        m.varargs |= t.text == "varargs";
        m.kwargs |= t.text == "kwargs";
      }
    }
    return e;
  }
  if (t.type == Type::string) {
    std::string text;
    while (current().type == Type::string) text += take().text;
    e->value = Value(plain(text));
    return e;
  }
  if (t.type == Type::integer || t.type == Type::real) {
    e->value = take().value;
    return e;
  }
  if (t.is_op("(")) {
    take();
    e = tuple(true, {}, true);
    expect_op(")");
    return e;
  }
  if (t.is_op("[")) return list_literal();
  if (t.is_op("{")) return dict_literal();
  fail_here("an expression");
}

bool Parser::tuple_ends(std::string_view end_name) const {
  const Token& t = current();
  return t.type == Type::variable_end || t.type == Type::block_end || t.is_op(")") ||
         (!end_name.empty() && t.is_name(end_name));
}

ExprPtr Parser::tuple(bool with_conditional, std::string_view end_name, bool parenthesised) {
  const int line = current().line;
  std::vector<ExprPtr> items;
  bool is_tuple = false;
  while (true) {
    if (!items.empty()) expect_op(",");
    if (tuple_ends(end_name)) break;
    items.push_back(expression(with_conditional));
    if (!current().is_op(",")) break;
    is_tuple = true;
  }
  if (!is_tuple && !items.empty()) return std::move(items[0]);
  if (!is_tuple && !parenthesised) fail_here("an expression");
  ExprPtr e = node(Kind::tuple, line);
  e->kids = std::move(items);
  return done(std::move(e));
}

ExprPtr Parser::list_literal() {
  ExprPtr e = node(Kind::list, take().line);
  while (!current().is_op("]")) {
    if (!e->kids.empty()) expect_op(",");
    if (current().is_op("]")) break;
    e->kids.push_back(expression());
  }
  expect_op("]");
  return done(std::move(e));
}

ExprPtr Parser::dict_literal() {
  ExprPtr e = node(Kind::dict, take().line);
  while (!current().is_op("}")) {
    if (!e->kids.empty()) expect_op(",");
    if (current().is_op("}")) break;
    e->kids.push_back(expression());
    expect_op(":");
    e->kids.push_back(expression());
  }
  expect_op("}");
  return done(std::move(e));
}

ExprPtr Parser::postfix(ExprPtr e) {
  while (true) {
    if (current().is_op(".") || current().is_op("["))
      e = subscript(std::move(e));
    else if (current().is_op("("))
      e = call(std::move(e));
    else
      return e;
  }
}

ExprPtr Parser::subscript(ExprPtr object) {
  const Token& t = take();
  if (t.text == ".") {
    const Token& what = take();
    if (what.type == Type::name) {
      ExprPtr e = node(Kind::attribute, t.line);
      e->name = what.text;
      e->kids.push_back(std::move(object));
      return done(std::move(e));
    }
    if (what.type != Type::integer) fail("a name or a number was expected after '.'", what.line);
    ExprPtr e = node(Kind::item, t.line);
    ExprPtr index = node(Kind::literal, what.line);
    index->value = what.value;
    e->kids.push_back(std::move(object));
    e->kids.push_back(std::move(index));
    return done(std::move(e));
  }
  ExprPtr e = subscribed(std::move(object));
  if (current().is_op(",") && e->kind == Kind::item) {  // x[1, 2] is x[(1, 2)]
    ExprPtr key = node(Kind::tuple, t.line);
    key->kids.push_back(std::move(e->kids[1]));
    while (skip_op(",") && !current().is_op("]")) key->kids.push_back(expression());
    e->kids[1] = done(std::move(key));
    e = done(std::move(e));
  }
  expect_op("]");
  return e;
}

ExprPtr Parser::subscribed(ExprPtr object) {
  const int line = current().line;
  ExprPtr parts[3];
  if (!current().is_op(":")) {
    parts[0] = expression();
    if (!current().is_op(":")) {
      ExprPtr e = node(Kind::item, line);
      e->kids.push_back(std::move(object));
      e->kids.push_back(std::move(parts[0]));
      return done(std::move(e));
    }
  }
  expect_op(":");
  if (!current().is_op(":") && !current().is_op("]")) parts[1] = expression();
  if (skip_op(":") && !current().is_op("]")) parts[2] = expression();
  ExprPtr e = node(Kind::slice, line);
  e->kids.push_back(std::move(object));
  for (ExprPtr& p : parts) e->kids.push_back(std::move(p));
  return done(std::move(e));
}

ExprPtr Parser::call(ExprPtr callee) {
  ExprPtr e = node(Kind::call, current().line);
  e->kids.push_back(std::move(callee));
  call_arguments(*e);
  return done(std::move(e));
}

void Parser::call_arguments(Expr& e) {
  const int line = current().line;
  const auto ensure = [&](bool ok) {
    if (!ok) fail("arguments in a call must be in the order: values, names = values, *list, **dict", line);
  };
  expect_op("(");
  bool comma = false;
  while (!current().is_op(")")) {
    if (comma) {
      expect_op(",");
      if (current().is_op(")")) break;
    }
    if (skip_op("*")) {
      ensure(!e.star && !e.star_star);
      e.star = expression();
    } else if (skip_op("**")) {
      ensure(!e.star_star);
      e.star_star = expression();
    } else if (current().type == Type::name && look().is_op("=")) {
      ensure(!e.star_star);
      std::string name = take().text;
      take();
      e.keywords.emplace_back(std::move(name), expression());
    } else {
      ensure(!e.star && !e.star_star && e.keywords.empty());
      e.kids.push_back(expression());
    }
    comma = true;
  }
  expect_op(")");
}

ExprPtr Parser::filters(ExprPtr e) {
  while (true) {
    if (skip_op("|"))
      e = filter(std::move(e));
    else if (current().is_name("is"))
      e = test(std::move(e));
    else if (current().is_op("("))
      e = call(std::move(e));
    else
      return e;
  }
}

ExprPtr Parser::filter(ExprPtr value) {
  const int line = current().line;
  ExprPtr e = node(Kind::filter, line);
  e->name = expect_name();
  while (skip_op(".")) e->name += "." + expect_name();
  e->kids.push_back(std::move(value));
  if (current().is_op("(")) call_arguments(*e);
  e->filter = find_filter(e->name);
  if (!e->filter && !soft_) fail(fmt::format("no filter named '{}'", e->name), line);
  return done(std::move(e));
}

ExprPtr Parser::test(ExprPtr value) {
  const int line = take().line;
  const bool negated = skip_name("not");
  ExprPtr e = node(Kind::test, line);
  e->name = expect_name();
  while (skip_op(".")) e->name += "." + expect_name();
  e->kids.push_back(std::move(value));
  const Token& t = current();
  if (t.is_op("(")) {
    call_arguments(*e);
  } else if ((t.type == Type::name || t.type == Type::string || t.type == Type::integer || t.type == Type::real ||
              t.is_op("[") || t.is_op("{")) &&
             !t.is_name("else") && !t.is_name("or") && !t.is_name("and")) {
    if (t.is_name("is")) fail("tests cannot be chained with 'is'", t.line);
    e->kids.push_back(postfix(primary()));
  }
  e->test = find_test(e->name);
  if (!e->test && !soft_) fail(fmt::format("no test named '{}'", e->name), line);
  e = done(std::move(e));
  if (!negated) return e;
  ExprPtr n = node(Kind::logical_not, line);
  n->kids.push_back(std::move(e));
  return done(std::move(n));
}

ExprPtr Parser::assign_target(std::string_view end_name, bool with_attribute) {
  const int line = current().line;
  const Nesting nesting(*this);
  const auto one = [&]() -> ExprPtr {
    if (skip_op("(")) {
      ExprPtr inner = assign_target({}, with_attribute);
      expect_op(")");
      return inner;
    }
    const Token& t = current();
    if (t.type != Type::name) fail_here("a name to assign to");
    for (std::string_view k : {"true", "True", "false", "False", "none", "None"})
      if (t.text == k) fail(fmt::format("cannot assign to '{}'", k), t.line);
    take();
    ExprPtr e = node(Kind::name, t.line);
    e->name = t.text;
    if (with_attribute && skip_op(".")) {
      e->kind = Kind::target_attribute;
      e->names.push_back(expect_name());
    }
    return e;
  };
  ExprPtr first = one();
  if (!current().is_op(",")) return first;
  ExprPtr e = node(Kind::tuple, line);
  e->kids.push_back(std::move(first));
  while (skip_op(",")) {
    const Token& t = current();
    if (t.is_op("=") || t.is_op(")") || t.type == Type::block_end || (!end_name.empty() && t.is_name(end_name))) break;
    e->kids.push_back(one());
  }
  return done(std::move(e));
}

}  // namespace hearth::jinja
