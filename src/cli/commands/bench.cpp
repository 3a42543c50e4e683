// hearth bench engine MODEL — speed of the engine on this machine, and how near it is to what memory allows.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fstream>

#include "backend/cpu/bandwidth.h"
#ifdef HEARTH_HAS_CUDA
#include "backend/cuda/cuda_ops.h"
#endif
#include "backend/cpu/cpu_ops.h"
#include "base/log.h"
#include "base/status.h"
#include "base/thread_pool.h"
#include "checkpoint/hf_config.h"
#include "cli/command_def.h"
#include "cli/commit.h"
#include "cli/engine_bench.h"
#include "cli/load_model.h"
#include "cli/progress.h"
#include "cli/standard_streams.h"
#include "cli/verb_args.h"

namespace hearth {
namespace {

std::vector<int> int_list(const ParsedArgs& a, std::string_view name, std::vector<int> otherwise) {
  if (!a.has(name)) return otherwise;
  std::vector<int> out;
  for (const std::string& value : a.list(name)) {
    for (std::size_t from = 0; from <= value.size();) {
      const std::size_t comma = std::min(value.find(',', from), value.size());
      const std::optional<std::int64_t> n = parse_human_integer(value.substr(from, comma - from));
      if (!n || *n < 1 || *n > (1 << 24))
        throw StartupError(fmt::format("--{}: '{}' is no list of whole numbers above 0", name, value),
                           "--" + std::string(name), "write 512 or 128,512", 2);
      out.push_back(static_cast<int>(*n));
      from = comma + 1;
    }
  }
  return out;
}

std::string machine_name() {
  std::ifstream in("/proc/cpuinfo");
  std::string line;
  while (std::getline(in, line))
    if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
  return "unknown processor";
}

// Stored bytes of the weights that one decode step of a batch reads: all but the embedding table (unless it is the
// head, too), and of the experts as many as the batch can reach.
double weight_bytes_a_step(const OpenedModel& model, int batch) {
  const Json& config = text_config(model.source->config());
  const std::int64_t experts = get_int(config, "num_experts", 0);
  const std::int64_t active = get_int(config, "num_experts_per_tok", 0);
  const bool tied =
      get_bool(config, "tie_word_embeddings", get_bool(model.source->config(), "tie_word_embeddings", false));
  const double share =
      experts > 0 ? std::min(1.0, static_cast<double>(batch * active) / static_cast<double>(experts)) : 1.0;
  double sum = 0;
  for (const SourceTensor& t : model.source->tensors()) {
    if (t.name.find("visual.") != std::string::npos || t.name.starts_with("mtp.")) continue;
    if (!tied && t.name.ends_with("embed_tokens.weight")) continue;
    sum += static_cast<double>(t.bytes) * (t.name.find(".experts.") != std::string::npos ? share : 1.0);
  }
  return sum;
}

double bandwidth_of(const std::string& device, int threads) {
#ifdef HEARTH_HAS_CUDA
  if (device == "cuda") return cuda_read_bandwidth();
#endif
  (void)device;
  return measure_read_bandwidth(threads);
}

int run(const std::vector<std::string>& words) {
  const bool help = !words.empty() && (words[0] == "--help" || words[0] == "-h");
  if (!help && (words.empty() || words[0] != "engine"))
    throw StartupError(words.empty() ? "no benchmark is named" : "'" + words[0] + "' is no benchmark", "command line",
                       "hearth bench engine MODEL", 2);
  auto v = read_verb_args(
      "hearth bench engine MODEL [options]",
      {{{"prompt-tokens", Arity::many, "-p"}, "lengths of prompts, e.g. 128,512 [512]"},
       {{"gen-tokens", Arity::many, "-g"}, "generated tokens [128]"},
       {{"context", Arity::value}, "tokens before the generated ones [16]"},
       {{"batch", Arity::many, "-b"}, "requests at once, e.g. 1,8 [1]"},
       {{"threads-list", Arity::many}, "measure with each of these numbers of threads [--threads]"},
       {{"repeats", Arity::value}, "measured runs of each case [3]"},
       {{"json", Arity::value}, "append one JSON line a case to this file; - prints them instead of the table"}},
      {words.begin() + (help ? 0 : 1), words.end()});
  if (!v) return 0;
  LoadOptions& load = v->load;
  const std::vector<int> prompts = int_list(v->args, "prompt-tokens", {512}),
                         generated = int_list(v->args, "gen-tokens", {128});
  const std::vector<int> batches = int_list(v->args, "batch", {1});
  const std::vector<int> threads =
      int_list(v->args, "threads-list", {load.threads > 0 ? load.threads : default_num_threads()});
  const int context = static_cast<int>(v->args.integer("context", 16, 1, 1 << 24));
  const int repeats = static_cast<int>(v->args.integer("repeats", 3, 1, 1000));
  const std::string json = v->args.text("json");

  set_log_level(LogLevel::warning);
  const int longest = std::max(*std::max_element(prompts.begin(), prompts.end()) + 1,
                               context + *std::max_element(generated.begin(), generated.end()));
  load.engine.max_num_seqs = *std::max_element(batches.begin(), batches.end());
  if (!v->args.has("max-num-batched-tokens"))
    load.engine.max_num_batched_tokens = std::max(512, load.engine.max_num_seqs);
  OpenedModel model = open_model(load);
  if (load.max_model_len == 0) load.max_model_len = std::min<std::int64_t>(longest, model.info.max_position_embeddings);
  if (load.memory.num_blocks == 0 && load.memory.kv_cache_bytes == 0)
    load.memory.num_blocks = load.engine.max_num_seqs * static_cast<int>((load.max_model_len + 15) / 16);
  if (longest > load.max_model_len)
    throw StartupError(fmt::format("{} tokens are asked for, and the context holds {}", longest, load.max_model_len),
                       "command line", "lower --prompt-tokens, --gen-tokens or --context");

  std::FILE* lines = nullptr;
  if (json == "-")
    lines = stdout;
  else if (!json.empty() && !(lines = std::fopen(json.c_str(), "a")))
    throw StartupError(std::string("cannot write the results: ") + std::strerror(errno), json,
                       "check the path given to --json");
  const bool table = lines != stdout;
  std::string command = "hearth bench";
  for (const std::string& w : words) command += " " + w;
  const std::string machine = machine_name();
  const std::string isa =
      load.device.starts_with("ref") || load.device == "cuda" ? load.device : std::string(available_isas().front());
  if (table) {
    std::printf("%s, %s, %s; commit %s\n", machine.c_str(), isa.c_str(), model.path.c_str(), commit());
    std::printf("%-8s %7s %5s %9s %9s %9s %12s %10s %10s %6s\n", "test", "threads", "batch", "tok/s", "min", "max",
                "MiB a step", "GB/s", "machine", "share");
  }
  for (int n : threads) {
    load.threads = n;
    std::shared_ptr<Ops> ops = make_ops(load);
    const StartPlan plan = plan_model(model, *ops, load, machine_memory(), 0);
    std::shared_ptr<Engine> engine;
    {
      Progress progress(true);
      engine = load_engine(model, ops, plan, load, progress);
    }
    const double bandwidth = bandwidth_of(load.device, n);
    std::vector<BenchCase> cases;
    for (int b : batches) {
      for (int p : prompts) cases.push_back({true, p, b, 0});
      for (int g : generated)
        if (g > 1) cases.push_back({false, g, b, context});
    }
    for (const BenchCase& c : cases) {
      const BenchTimes times =
          run_bench_case(*engine, c, static_cast<int>(model.info.vocab_size), repeats, load.engine.seed);
      if (!times.error.empty()) throw StartupError("a request failed: " + times.error, "bench", "see the log");
      const Spread speed = spread_of(times.tokens_a_second);
      const double seconds = spread_of(times.seconds).median;
      const std::string name = fmt::format("{}{}", c.prompt ? "pp" : "tg", c.tokens);
      // What a decode step reads: the weights, and the context of each sequence.
      const double kv =
          c.batch * (c.context + c.tokens / 2.0) * static_cast<double>(plan.cache_needs.kv_bytes_per_token);
      const double state = 2.0 * c.batch * static_cast<double>(plan.cache_needs.state_bytes_per_slot);
      const double bytes = c.prompt ? 0 : weight_bytes_a_step(model, c.batch) + kv + state;
      const double rate = c.prompt ? 0 : bytes * static_cast<double>(times.steps) / seconds;
      if (table) {
        std::printf("%-8s %7d %5d %9.1f %9.1f %9.1f", name.c_str(), n, c.batch, speed.median, speed.min, speed.max);
        if (!c.prompt)
          std::printf(" %12.1f %10.2f %10.2f %5.0f%%", bytes / (1 << 20), rate / 1e9, bandwidth / 1e9,
                      100 * rate / bandwidth);
        std::printf("\n");
        flush_output();
      }
      if (!lines) continue;
      Json j{{"test", name},         {"tok_s", speed.median}, {"tok_s_min", speed.min}, {"tok_s_max", speed.max},
             {"batch", c.batch},     {"threads", n},          {"repeats", repeats},     {"tokens", c.tokens},
             {"context", c.context}, {"steps", times.steps}};
      if (!c.prompt) {
        j["bytes_a_step"] = bytes;
        j["read_bytes_a_second"] = rate;
        j["share_of_bandwidth"] = rate / bandwidth;
      }
      j["machine_read_bytes_a_second"] = bandwidth;
      j["model"] = model.path;
      j["architecture"] = model.info.architecture;
      j["kv_cache_dtype"] = dtype_name(model.kv_dtype);
      j["weights_bytes"] = plan.plan.weights;
      j["isa"] = isa;
      j["machine"] = machine;
      j["commit"] = commit();
      j["command"] = command;
      j["time"] = static_cast<std::int64_t>(std::time(nullptr));
      std::fprintf(lines, "%s\n", dump_json(j).c_str());
      if (lines == stdout)
        flush_output();
      else if (std::fflush(lines) != 0)
        throw StartupError(std::string("cannot write the results: ") + std::strerror(errno), json, "check the disk");
    }
  }
  if (lines && lines != stdout) std::fclose(lines);
  return 0;
}

}  // namespace

extern const CommandDef commands_bench;
const CommandDef commands_bench{"bench", "speed on this machine: hearth bench engine MODEL", run};

}  // namespace hearth
