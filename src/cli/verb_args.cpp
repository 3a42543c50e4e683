#include "cli/verb_args.h"

#include <cstdio>

#include "base/log.h"
#include "base/status.h"
#include "cli/serve_flags.h"
#include "cli/serve_options.h"

namespace hearth {
namespace {
constexpr std::string_view kLoadFlags[] = {"revision",
                                           "download-dir",
                                           "tokenizer",
                                           "tokenizer-revision",
                                           "chat-template",
                                           "device",
                                           "threads",
                                           "dtype",
                                           "kv-cache-dtype",
                                           "load-format",
                                           "quantization",
                                           "hf-overrides",
                                           "hf-config-path",
                                           "max-model-len",
                                           "max-num-seqs",
                                           "max-num-batched-tokens",
                                           "memory",
                                           "memory-floor",
                                           "gpu-memory-utilization",
                                           "kv-cache-memory-bytes",
                                           "num-gpu-blocks-override",
                                           "generation-config",
                                           "override-generation-config",
                                           "seed"};
}  // namespace

std::optional<VerbArgs> read_verb_args(std::string_view usage, const std::vector<VerbOption>& own,
                                       const std::vector<std::string>& args) {
  std::vector<OptionDef> defs{{"help", Arity::flag, "-h"}};
  for (const VerbOption& o : own) defs.push_back(o.def);
  for (std::string_view name : kLoadFlags) {
    const FlagDef& f = *find_serve_flag(name);
    defs.push_back({f.name, f.arity, f.aliases});
  }
  VerbArgs out;
  out.args = ArgParser(defs).parse(args);
  if (out.args.on("help")) {
    std::string text = "usage: " + std::string(usage) + "\n";
    if (!own.empty()) text += "\n";
    for (const VerbOption& o : own)
      text += fmt::format("  {:<26}{}\n", fmt::format("--{}{}", o.def.name, o.def.arity == Arity::flag ? "" : " X"),
                          o.help);
    text += "\nas for serve (hearth serve --help=all):\n ";
    for (std::string_view name : kLoadFlags) text += fmt::format(" --{}", name);
    std::puts(text.c_str());
    return std::nullopt;
  }
  if (out.args.positionals.empty())
    throw StartupError("no MODEL is given", "command line", "usage: " + std::string(usage), 2);
  refuse_flags(out.args);
  std::vector<std::string> warnings = out.args.warnings;
  read_load_options(out.args, out.load, warnings);
  for (const std::string& w : warnings) log_warning("{}", w);
  out.load.model = out.args.positionals[0];
  out.rest.assign(out.args.positionals.begin() + 1, out.args.positionals.end());
  return out;
}

}  // namespace hearth
