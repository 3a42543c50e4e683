// parser.h — tokens to a Template: a recursive-descent parser in the order of Jinja's grammar.
//
// Limits    expressions and blocks nest at most kMaxSyntaxDepth deep.
// Errors    throws Error "TemplateSyntaxError" with the line. An unknown filter or test is one, except inside an if, where
//           Jinja lets it pass until it is used (templates test for features that way).
#pragma once

#include <initializer_list>
#include <string_view>
#include <vector>

#include "text/jinja/ast.h"
#include "text/jinja/lexer.h"

namespace hearth::jinja {

constexpr int kMaxSyntaxDepth = 200;

class Parser {
 public:
  explicit Parser(std::vector<Token> tokens) : tokens_(std::move(tokens)) {}
  Template parse_template();

 private:
  using Ends = std::initializer_list<std::string_view>;
  // ---- tokens
  const Token& current() const { return tokens_[pos_]; }
  const Token& look() const { return tokens_[pos_ + 1 < tokens_.size() ? pos_ + 1 : pos_]; }
  const Token& take() { return tokens_[pos_ + 1 < tokens_.size() ? pos_++ : pos_]; }
  bool skip_op(std::string_view op);
  bool skip_name(std::string_view name);
  void expect_op(std::string_view op);
  void expect(Token::Type type, const char* what);
  std::string expect_name();
  [[noreturn]] void fail(const std::string& message, int line) const;
  [[noreturn]] void fail_here(const std::string& expected) const;

  // ---- expressions (parser_expr.cpp)
  ExprPtr expression(bool with_conditional = true);
  ExprPtr conditional();
  ExprPtr logical_or();
  ExprPtr logical_and();
  ExprPtr logical_not();
  ExprPtr comparison();
  ExprPtr sum();
  ExprPtr concatenation();
  ExprPtr product();
  ExprPtr power();
  ExprPtr unary(bool with_filter = true);
  ExprPtr primary();
  ExprPtr postfix(ExprPtr e);
  ExprPtr subscript(ExprPtr e);
  ExprPtr subscribed(ExprPtr object);
  ExprPtr filters(ExprPtr e);
  ExprPtr filter(ExprPtr e);
  ExprPtr test(ExprPtr e);
  ExprPtr call(ExprPtr callee);
  void call_arguments(Expr& call);
  ExprPtr list_literal();
  ExprPtr dict_literal();
  // A tuple where commas follow, else the expression itself.
  ExprPtr tuple(bool with_conditional, std::string_view end_name = {}, bool parenthesised = false);
  bool tuple_ends(std::string_view end_name) const;
  ExprPtr assign_target(std::string_view end_name, bool with_attribute);
  ExprPtr node(Expr::Kind kind, int line) const;
  ExprPtr done(ExprPtr e) const;  // sets the depth and checks it

  // ---- statements (parser_stmt.cpp)
  Body body_until(Ends ends);  // stops before the name of the end tag
  Body block(Ends ends);       // block_end, body, and the end tag's name is current
  std::unique_ptr<Stmt> statement();
  std::unique_ptr<Stmt> branch_statement();
  std::unique_ptr<Stmt> loop_statement();
  std::unique_ptr<Stmt> set_statement();
  std::unique_ptr<Stmt> macro_statement();
  std::unique_ptr<Stmt> call_statement();
  std::unique_ptr<Stmt> with_statement();
  std::unique_ptr<Stmt> scoped_statement(Stmt::Kind kind, std::string_view end);
  void signature(Macro& macro);
  void macro_body(Macro& macro, std::string_view end);

  // What is open around the current token.
  struct Macros {  // names the open macros use
    bool caller = false, varargs = false, kwargs = false;
  };
  struct Nesting;  // counts depth_
  std::vector<Token> tokens_;
  std::size_t pos_ = 0;
  int depth_ = 0;
  int loops_ = 0;      // break and continue need one
  bool soft_ = false;  // inside an if: unknown filters wait
  std::vector<Macros> open_macros_;
  std::size_t num_macros_ = 0;  // seen so far
};

FilterFn find_filter(std::string_view name);
TestFn find_test(std::string_view name);

struct Parser::Nesting {
  explicit Nesting(Parser& p) : parser(p) {
    if (++parser.depth_ > kMaxSyntaxDepth) parser.fail("the template nests too deeply here", parser.current().line);
  }
  ~Nesting() { --parser.depth_; }
  Parser& parser;
};

}  // namespace hearth::jinja
