// hearth --version
#include <cstdio>

#include "cli/command_def.h"
#include "cli/commit.h"

namespace hearth {
namespace {
int run(const std::vector<std::string>&) {
  std::printf("hearth %s (%s)\n", HEARTH_VERSION, commit());
  return 0;
}
}  // namespace

extern const CommandDef commands_version;
const CommandDef commands_version{"--version", "print version and commit", run};

}  // namespace hearth
