// main — finds the verb, runs it, and turns a StartupError into three plain lines.
#include <csignal>
#include <cstdio>
#include <string>
#include <vector>

#include "base/args.h"
#include "base/log.h"
#include "base/status.h"
#include "cli/command_def.h"

namespace {

using namespace hearth;

void print_usage(std::FILE* out) {
  std::fputs("usage: hearth COMMAND [options]\n\ncommands:\n", out);
  for (const CommandDef* c : all_commands()) std::fprintf(out, "  %-10s %s\n", c->name.data(), c->summary.data());
  std::fputs("\nhearth COMMAND --help says more.\n", out);
}

void set_level_from_environment() {
  const std::string level = env_value("VLLM_LOGGING_LEVEL").value_or("INFO");
  if (level == "DEBUG")
    set_log_level(LogLevel::debug);
  else if (level == "WARNING" || level == "WARN")
    set_log_level(LogLevel::warning);
  else if (level == "ERROR" || level == "CRITICAL")
    set_log_level(LogLevel::error);
}

int run(std::vector<std::string> args) {
  // Argument lists of `python -m vllm.entrypoints.openai.api_server` begin with an option: they mean `serve`.
  if (args[0].starts_with("--") && args[0] != "--version") args.insert(args.begin(), "serve");
  for (const CommandDef* c : all_commands())
    if (c->name == args[0]) return c->run({args.begin() + 1, args.end()});
  std::string near;
  int distance = 3;
  for (const CommandDef* c : all_commands()) {
    if (const int d = edit_distance(c->name, args[0]); d < distance) {
      distance = d;
      near = c->name;
    }
  }
  throw StartupError("unknown command '" + args[0] + "'", "command line",
                     near.empty() ? "hearth --help lists the commands" : "did you mean hearth " + near + "?", 2);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::vector<std::string> args(argv + 1, argv + argc);
  if (args.empty() || args[0] == "--help" || args[0] == "-h" || args[0] == "help") {
    print_usage(args.empty() ? stderr : stdout);
    return args.empty() ? 2 : 0;
  }
  try {
    set_level_from_environment();
    return run(args);
  } catch (const StartupError& e) {
    if (e.exit_code() == 2)
      std::fputs("usage: hearth COMMAND [options]    (hearth COMMAND --help says more)\n", stderr);
    std::fprintf(stderr, "hearth: error: %s\n", e.what());
    if (!e.where().empty()) std::fprintf(stderr, "  where: %s\n", e.where().c_str());
    if (!e.hint().empty()) std::fprintf(stderr, "  try:   %s\n", e.hint().c_str());
    return e.exit_code();
  }
}
