// main — finds the verb, runs it, and turns a StartupError into three plain lines.
#include <cstdio>
#include <string>
#include <vector>

#include "base/status.h"
#include "cli/command_def.h"

int main(int argc, char** argv) {
  using namespace hearth;
  std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    std::printf("usage: hearth COMMAND [options]\n\ncommands:\n");
    for (const CommandDef* c : all_commands()) std::printf("  %-10s %s\n", c->name.data(), c->summary.data());
    return args.empty() ? 2 : 0;
  }
  try {
    for (const CommandDef* c : all_commands())
      if (c->name == args[0]) return c->run({args.begin() + 1, args.end()});
    throw StartupError("unknown command '" + args[0] + "'", "command line", "hearth --help lists the commands", 2);
  } catch (const StartupError& e) {
    std::fprintf(stderr, "hearth: error: %s\n", e.what());
    if (!e.where().empty()) std::fprintf(stderr, "  where: %s\n", e.where().c_str());
    if (!e.hint().empty()) std::fprintf(stderr, "  try:   %s\n", e.hint().c_str());
    return e.exit_code();
  }
}
