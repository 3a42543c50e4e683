// hearth docs NAME — the documents that are written from tables in the code.
#include <cstdio>

#include "base/status.h"
#include "cli/command_def.h"
#include "cli/launch_lines.h"
#include "cli/serve_flags.h"

namespace hearth {
namespace {
int run(const std::vector<std::string>& args) {
  const std::string name = args.size() == 1 ? args[0] : "";
  std::string text;
  if (name == "flags")
    text = serve_flags_markdown();
  else if (name == "launch-lines")
    text = launch_lines_markdown();
  else
    throw StartupError("'" + name + "' is no generated document", "command line",
                       "hearth docs flags, or hearth docs launch-lines", 2);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}
}  // namespace

extern const CommandDef commands_docs;
const CommandDef commands_docs{"docs", "print a document made from the code's tables: flags, launch-lines", run};

}  // namespace hearth
