// hearth docs NAME — the documents that are written from tables in the code.
#include <string>

#include "base/status.h"
#include "cli/command_def.h"
#include "cli/launch_lines.h"
#include "cli/serve_flags.h"
#include "cli/standard_streams.h"

namespace hearth {
namespace {
int run(const std::vector<std::string>& args) {
  const std::string name = args.size() == 1 ? args[0] : "";
  std::string text;
  if (name == "--help" || name == "-h")
    text = "usage: hearth docs flags | launch-lines\n\nPrints the document as it stands in docs/.\n";
  else if (name == "flags")
    text = serve_flags_markdown();
  else if (name == "launch-lines")
    text = launch_lines_markdown();
  else
    throw StartupError(name.empty() ? "one document is expected" : "'" + name + "' is no generated document",
                       "command line", "hearth docs flags, or hearth docs launch-lines", 2);
  print_now(text);
  return 0;
}
}  // namespace

extern const CommandDef commands_docs;
const CommandDef commands_docs{"docs", "print a document made from the code's tables: flags, launch-lines", run};

}  // namespace hearth
