// serve_flags.h — every option of `hearth serve`, in one table: what the parser, the help, docs/generated/flags.md and
// the tests read.
//
// Classes   implemented   does what its help says; `test` names the end-to-end test that sees its effect. With
//                         `accepts`, values outside it are refused.
//           ignored       tunes something this program does not have, and changes no result: accepted, one warning line.
//           refused       would change results or resources and is not offered: exit 2 with the reason and the nearest
//                         supported value. Values in `accepts` ask for what is so anyway, and pass without a word.
// An option outside the table is unknown: exit 2 with a suggestion.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/args.h"

namespace hearth {

enum class FlagClass { implemented, ignored, refused };

struct FlagDef {
  std::string_view name;
  Arity arity;
  FlagClass cls;
  std::string_view group;
  std::string_view default_text;  // implemented: what holds without it
  std::string_view help;          // implemented: what it does; ignored, refused: why
  std::string_view nearest;       // what to write instead of a refused value
  std::string_view accepts;       // values that pass, space-separated; refused flags: "false" always passes
  std::string_view test;          // implemented: file.py::test that observes the effect
  std::string_view aliases;
};

std::span<const FlagDef> serve_flags();
const FlagDef* find_serve_flag(std::string_view name);
const ArgParser& serve_arg_parser();

// One line for each ignored option that was given.
std::vector<std::string> ignored_flag_warnings(const ParsedArgs& args);
// StartupError (exit 2) that lists every refused option that was given, with reason and nearest value.
void refuse_flags(const ParsedArgs& args);

// `--help` (implemented options), "all", or those whose name or group holds `filter`.
std::string serve_help(std::string_view filter);
// docs/generated/flags.md.
std::string serve_flags_markdown();

}  // namespace hearth
