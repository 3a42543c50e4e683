// hearth show MODEL — what a checkpoint is, and what serving it would take.
#include <fmt/format.h>

#include <cstdio>

#include "cli/command_def.h"
#include "cli/load_model.h"
#include "cli/load_text.h"
#include "cli/standard_streams.h"
#include "cli/verb_args.h"
#include "tensor/tensor.h"

namespace hearth {
namespace {

void row(const std::string& name, const std::string& value) {
  std::printf("  %-18s %s\n", name.c_str(), value.c_str());
}

int run(const std::vector<std::string>& words) {
  const auto v = read_verb_args("hearth show MODEL [options]",
                                {{{"template", Arity::flag}, "print the chat template only"}}, words);
  if (!v) return 0;
  OpenedModel model = open_model(v->load);
  const ModelText text = load_text(model.path, v->load);
  if (v->args.on("template")) {
    if (text.chat_template) print_now(text.chat_template->source());
    return 0;
  }
  const ModelInfo& info = model.info;
  std::printf("%s\n\nmodel\n", model.path.c_str());
  row("architecture", info.architecture);
  row("layers", fmt::format("{} ({} attention, {} recurrent)", info.num_layers, info.cache.num_kv_layers,
                            info.cache.num_state_layers));
  row("hidden size", std::to_string(info.hidden_size));
  row("vocabulary", fmt::format("{} rows, {} tokens", info.vocab_size, text.tokenizer->vocab_size()));
  row("context", fmt::format("{} tokens", info.max_position_embeddings));

  std::printf("\nstored\n");
  for (const auto& [format, s] : model.stored)
    row(format, fmt::format("{:>10}  {} tensors", format_bytes(s.bytes), s.tensors));
  row("all", fmt::format("{:>10}", format_bytes(model.stored_bytes())));

  std::printf("\ntext\n");
  row("chat template", text.chat_template
                           ? fmt::format("{} bytes, from {}", text.chat_template->source().size(), text.template_from)
                           : "none: chat requests are refused");
  const SamplingDefaults sampling = sampling_defaults(model.source->generation_config(), v->load.generation_config,
                                                      v->load.override_generation_config);
  row("default sampling", sampling.sampling.empty() ? "none" : dump_json(sampling.sampling));

  std::printf("\nserving\n");
  const std::unique_ptr<Ops> ops = make_ops(v->load);
  row("device", std::string(ops->name()));
  row("KV cache format", dtype_name(model.kv_dtype));
  const StartPlan plan = plan_model(model, *ops, v->load, machine_memory(), text.bytes);
  row("weights read", fmt::format("{:>10}", format_bytes(model.used_bytes)));
  for (const std::string& line : plan_lines(plan)) std::printf("  %s\n", line.c_str());
  return 0;
}

}  // namespace

extern const CommandDef commands_show;
const CommandDef commands_show{"show", "what a model is: architecture, formats, template, memory plan", run};

}  // namespace hearth
