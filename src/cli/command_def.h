// command_def.h — a verb of the program: one file in cli/commands/ defines `const CommandDef commands_<file>`.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct CommandDef {
  std::string_view name;                             // "serve"
  std::string_view summary;                          // one line for `hearth --help`
  int (*run)(const std::vector<std::string>& args);  // exit code; may throw StartupError
};

std::span<const CommandDef* const> all_commands();

}  // namespace hearth
