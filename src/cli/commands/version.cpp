#include <cstdio>

#include "cli/command_def.h"

namespace hearth {
namespace {
int run(const std::vector<std::string>&) {
  std::printf("hearth %s\n", HEARTH_VERSION);
  return 0;
}
}  // namespace

extern const CommandDef commands_version;
const CommandDef commands_version{"--version", "print the version", run};

}  // namespace hearth
