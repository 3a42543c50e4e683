// verb_args.h — the command line of the verbs beside serve: their own options, and those of serve about loading.
//
// Errors    StartupError with exit code 2.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/args.h"
#include "cli/load_options.h"

namespace hearth {

struct VerbOption {
  OptionDef def;
  std::string_view help;
};

struct VerbArgs {
  ParsedArgs args;
  LoadOptions load;               // load.model is the first positional
  std::vector<std::string> rest;  // the other positionals
};

// Prints the help and gives nothing for --help.
std::optional<VerbArgs> read_verb_args(std::string_view usage, const std::vector<VerbOption>& own,
                                       const std::vector<std::string>& args);

}  // namespace hearth
