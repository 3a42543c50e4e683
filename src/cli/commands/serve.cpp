// hearth serve MODEL — options, plan, load, engine, server.
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <string_view>

#include "base/log.h"
#include "base/status.h"
#include "cli/command_def.h"
#include "cli/load_model.h"
#include "cli/load_text.h"
#include "cli/progress.h"
#include "cli/serve_options.h"
#include "cli/standard_streams.h"
#include "server/http/http_server.h"
#include "tensor/tensor.h"

namespace hearth {
namespace {

std::shared_ptr<ServedModel> served_model(const ServeOptions& o, const OpenedModel& model, const ModelText& text) {
  auto served = std::make_shared<ServedModel>();
  served->names = o.names;
  served->root = o.load.model;
  served->created = static_cast<std::int64_t>(std::time(nullptr));
  served->vocab_size = static_cast<std::int32_t>(model.info.vocab_size);
  served->tokenizer = text.tokenizer;
  served->longest_token_bytes = longest_token(*text.tokenizer);
  served->chat_template = text.chat_template;
  SamplingDefaults sampling =
      sampling_defaults(model.source->generation_config(), o.load.generation_config, o.load.override_generation_config);
  served->default_sampling = std::move(sampling.sampling);
  served->eos_token_ids = text.end_tokens;
  for (std::int32_t id : sampling.end_tokens)
    if (std::find(served->eos_token_ids.begin(), served->eos_token_ids.end(), id) == served->eos_token_ids.end())
      served->eos_token_ids.push_back(id);
  served->default_chat_template_kwargs = o.default_chat_template_kwargs;
  return served;
}

// Before the server answers nothing is in hand but its address, so a signal ends the start where it stands. run_server takes
// over from here.
std::atomic<const char*> socket_file{nullptr};  // of --uds, once it is there

void stop_while_loading(int number) {
  const std::string_view line =
      number == SIGINT ? "hearth: SIGINT: stopped while loading\n" : "hearth: SIGTERM: stopped while loading\n";
  static constexpr std::string_view kClearBar = "\r\033[K";
  if (isatty(STDERR_FILENO) == 1) (void)!write(STDERR_FILENO, kClearBar.data(), kClearBar.size());
  (void)!write(STDERR_FILENO, line.data(), line.size());
  if (const char* path = socket_file.load()) unlink(path);
  _exit(0);
}

int run(const std::vector<std::string>& args) {
  const ServeOptions o = read_serve_options(args);
  if (o.help) {
    print_now(*o.help);
    return 0;
  }
  struct sigaction stop {};
  stop.sa_handler = stop_while_loading;
  sigaction(SIGINT, &stop, nullptr);
  sigaction(SIGTERM, &stop, nullptr);
  for (const std::string& w : o.warnings) log_warning("{}", w);

  std::unique_ptr<HttpServer> address;  // taken before minutes of loading, not after
  if (!o.dry_run) address = bind_server(o.server);
  if (address && !o.server.uds.empty()) socket_file = o.server.uds.c_str();

  OpenedModel model = open_model(o.load);
  log_info("model {}: {} ({} layers, {} stored)", o.load.model, model.info.architecture, model.info.num_layers,
           format_bytes(model.stored_bytes()));
  const ModelText text = load_text(model.path, o.load);
  if (text.tokenizer->vocab_size() > model.info.vocab_size)
    throw StartupError(fmt::format("the tokenizer has {} tokens, the model {} rows", text.tokenizer->vocab_size(),
                                   model.info.vocab_size),
                       text.tokenizer_from, "the tokenizer belongs to another model");
  if (!text.chat_template)
    log_warning("the model has no chat template: chat requests are refused; --chat-template gives one");

  std::shared_ptr<Ops> ops = make_ops(o.load);
  const StartPlan plan = plan_model(model, *ops, o.load, machine_memory(), text.bytes);
  log_info("device {}; KV cache {}", ops->name(), dtype_name(model.kv_dtype));
  for (const std::string& line : plan_lines(plan)) log_info("{}", line);
  std::shared_ptr<ServedModel> served = served_model(o, model, text);
  if (o.dry_run) return 0;

  auto service = std::make_shared<Service>();
  service->config = o.server;
  served->max_model_len = static_cast<std::int32_t>(plan.plan.cache.max_model_len);
  served->recorder =
      make_recorder(*service, o.names[0], served->max_model_len,
                    {{"block_size", std::to_string(plan.cache_needs.block_tokens)},
                     {"cache_dtype", dtype_name(model.kv_dtype)},
                     {"enable_prefix_caching", "False"},
                     {"gpu_memory_utilization", fmt::format("{}", o.load.memory.utilization.value_or(0))},
                     {"num_gpu_blocks", std::to_string(plan.plan.cache.num_blocks)}});
  {
    Progress progress;
    served->engine = load_engine(model, ops, plan, o.load, progress, served->recorder.get());
  }
  model.source.reset();
  service->models.push_back(served);
  served->engine->start();
  return run_server(service, std::move(address));
}

}  // namespace

extern const CommandDef commands_serve;
const CommandDef commands_serve{"serve", "serve a model over HTTP (OpenAI-compatible)", run};

}  // namespace hearth
