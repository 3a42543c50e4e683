// main — finds the verb, runs it, and turns whatever ends it early into plain lines: what, where, what to try.
#include <algorithm>
#include <cctype>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <new>
#include <string>
#include <vector>

#include "base/args.h"
#include "base/log.h"
#include "base/status.h"
#include "cli/command_def.h"
#include "cli/standard_streams.h"

namespace {

using namespace hearth;

void print_usage(std::FILE* out) {
  std::fputs("usage: hearth COMMAND [options]\n\ncommands:\n", out);
  for (const CommandDef* c : all_commands()) std::fprintf(out, "  %-10s %s\n", c->name.data(), c->summary.data());
  std::fputs("\nhearth COMMAND --help says more.\n", out);
}

void set_level_from_environment() {
  std::string level = env_value("VLLM_LOGGING_LEVEL").value_or("INFO");
  std::transform(level.begin(), level.end(), level.begin(), [](unsigned char c) { return std::toupper(c); });
  if (level == "DEBUG")
    set_log_level(LogLevel::debug);
  else if (level == "WARNING" || level == "WARN")
    set_log_level(LogLevel::warning);
  else if (level == "ERROR" || level == "CRITICAL")
    set_log_level(LogLevel::error);
  else if (level != "INFO")
    throw StartupError("VLLM_LOGGING_LEVEL='" + level + "' is no level", "environment",
                       "DEBUG, INFO, WARNING, ERROR or CRITICAL", 2);
}

int print_error(const StartupError& e) {
  if (e.exit_code() == 2) std::fputs("usage: hearth COMMAND [options]    (hearth COMMAND --help says more)\n", stderr);
  std::fprintf(stderr, "hearth: error: %s\n", e.what());
  if (!e.where().empty()) std::fprintf(stderr, "  where: %s\n", e.where().c_str());
  if (!e.hint().empty()) std::fprintf(stderr, "  try:   %s\n", e.hint().c_str());
  return e.exit_code();
}

int run(std::vector<std::string> args) {
  if (args.empty() || args[0] == "--help" || args[0] == "-h" || (args[0] == "help" && args.size() == 1)) {
    print_usage(args.empty() ? stderr : stdout);
    return args.empty() ? 2 : 0;
  }
  if (args[0] == "help") args = {args[1], "--help"};
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
  std::signal(SIGXFSZ, SIG_IGN);  // a file at its size limit is a failed write
  fill_standard_streams();
  try {
    set_level_from_environment();
    const int code = run({argv + 1, argv + argc});
    flush_output();
    return code;
  } catch (const StartupError& e) {
    return print_error(e);
  } catch (const std::bad_alloc&) {
    return print_error({"the system gives no more memory", {}, "lower --max-model-len, or lift the limit (ulimit -v)"});
  } catch (const std::exception& e) {
    const std::string what = e.what();
    const auto says = [&](int error) { return what.find(std::strerror(error)) != std::string::npos; };
    return print_error({what,
                        {},
                        says(EMFILE)   ? "allow more open files: ulimit -n 4096"
                        : says(EAGAIN) ? "allow more threads (ulimit -u) or more memory (ulimit -v)"
                                       : "this message says too little: please report it with the command line"});
  }
}
