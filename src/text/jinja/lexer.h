// lexer.h — template source to tokens, with white-space control done: trim_blocks and lstrip_blocks are on, one trailing
// newline of the source is dropped.
//
// Errors    throws Error "TemplateSyntaxError" with the line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "text/jinja/value.h"

namespace hearth::jinja {

struct Token {
  enum class Type { data, variable_begin, variable_end, block_begin, block_end, name, string, integer, real, op, end };
  Type type;
  std::string text;  // data, name, decoded string, operator
  Value value;       // integer, real
  int line;

  bool is_op(std::string_view o) const { return type == Type::op && text == o; }
  bool is_name(std::string_view n) const { return type == Type::name && text == n; }
};

std::vector<Token> tokenize(std::string_view source);

}  // namespace hearth::jinja
