// serve_options.h — the command line of `hearth serve`, read and checked: what to load, how to schedule, how to serve.
//
// Errors    StartupError with exit code 2, naming the option, the value and what was expected.
// Environment  VLLM_API_KEY, VLLM_ALLOW_LONG_MAX_MODEL_LEN, VLLM_SERVER_DEV_MODE, VLLM_LOGGING_LEVEL, request limits, and
//              the hub cache's place.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/args.h"
#include "cli/load_options.h"
#include "server/service.h"

namespace hearth {

struct ServeOptions {
  LoadOptions load;
  ServerConfig server;
  std::vector<std::string> names;
  Json default_chat_template_kwargs = Json::object();
  bool dry_run = false;
  std::vector<std::string> warnings;
  std::optional<std::string> help;  // --help: the text to print instead of serving
};

// The part about loading and scheduling, for every verb that takes these options.
void read_load_options(const ParsedArgs& args, LoadOptions& load, std::vector<std::string>& warnings);

ServeOptions read_serve_options(const std::vector<std::string>& args);

}  // namespace hearth
