#include "cli/load_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/cpu/cpu_ops.h"
#ifdef HEARTH_HAS_CUDA
#include "backend/cuda/cuda_ops.h"
#endif
#include "backend/ref/ref_ops.h"
#include "base/log.h"
#include "base/status.h"
#include "checkpoint/dummy_source.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/json_file.h"
#include "cli/progress.h"
#include "cli/resolve_model.h"
#include "engine/device_runner.h"
#include "nn/binder.h"

namespace hearth {
namespace {

constexpr std::int64_t kMiB = 1 << 20;

// A checkpoint whose configuration was changed on the command line.
class ConfiguredSource final : public WeightSource {
 public:
  ConfiguredSource(std::unique_ptr<WeightSource> source, Json config)
      : source_(std::move(source)), config_(std::move(config)) {}
  const std::vector<SourceTensor>& tensors() const override { return source_->tensors(); }
  const SourceTensor* find(std::string_view name) const override { return source_->find(name); }
  void read_range(const SourceTensor& tensor, std::int64_t offset, std::span<std::byte> dst) override {
    source_->read_range(tensor, offset, dst);
  }
  const SourceTensor* want(std::string_view name, std::span<const std::int64_t> shape) override {
    return source_->want(name, shape);
  }
  const Json& config() const override { return config_; }
  const Json& generation_config() const override { return source_->generation_config(); }
  std::string where(const SourceTensor& tensor) const override { return source_->where(tensor); }

 private:
  std::unique_ptr<WeightSource> source_;
  Json config_;
};

// The same names and shapes with no data behind them.
class ShapesOnly final : public WeightSource {
 public:
  explicit ShapesOnly(WeightSource& source) : source_(source) {}
  const std::vector<SourceTensor>& tensors() const override { return source_.tensors(); }
  const SourceTensor* find(std::string_view name) const override { return source_.find(name); }
  void read_range(const SourceTensor&, std::int64_t, std::span<std::byte> dst) override {
    std::memset(dst.data(), 0, dst.size());
  }
  const SourceTensor* want(std::string_view name, std::span<const std::int64_t> shape) override {
    return source_.want(name, shape);
  }
  const Json& config() const override { return source_.config(); }
  const Json& generation_config() const override { return source_.generation_config(); }
  std::string where(const SourceTensor& tensor) const override { return source_.where(tensor); }

 private:
  WeightSource& source_;
};

// Matrices with a size and no numbers.
class PlanningOps final : public RefOps {
 public:
  explicit PlanningOps(Ops& real) : real_(real) {}
  Matrix load_matrix(std::span<const StoredMatrix> parts) override {
    Matrix m;
    m.format = parts[0].format;
    m.cols = parts[0].cols;
    for (const StoredMatrix& part : parts) m.rows += part.rows;
    m.bytes = real_.plan_matrix(m.format, m.rows, m.cols);
    m.impl = std::make_shared<char>();
    bytes_ += static_cast<std::int64_t>(m.bytes);
    return m;
  }
  std::int64_t planned_bytes() const { return bytes_; }

 private:
  Ops& real_;
  std::int64_t bytes_ = 0;
};

void merge_into(Json& target, const Json& from) {
  for (const auto& [key, value] : from.items()) {
    if (value.is_object() && target.contains(key) && target[key].is_object())
      merge_into(target[key], value);
    else
      target[key] = value;
  }
}

Json read_config(const std::string& option) {
  std::filesystem::path path(option);
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) path /= "config.json";
  return read_json_file(path.string());
}

// Overrides go where the language model's keys are: to text_config when it is there and the key is not at the top.
// Rotary settings go into rope_parameters when the checkpoint has the newer spelling.
Json overridden(Json config, const Json& overrides) {
  for (const auto& [key, value] : overrides.items()) {
    Json* target = &config;
    if (key != "text_config" && config.contains("text_config") && config["text_config"].is_object() &&
        !config.contains(key))
      target = &config["text_config"];
    if ((key == "rope_theta" || key == "rope_scaling") && target->contains("rope_parameters")) {
      Json& rope = (*target)["rope_parameters"];
      if (key == "rope_theta")
        rope["rope_theta"] = value;
      else
        merge_into(rope, value);
      if (rope.contains("type")) rope["rope_type"] = rope["type"];
      continue;
    }
    merge_into(*target, Json{{key, value}});
  }
  return config;
}

void check_quantization(const LoadOptions& options, const OpenedModel& m) {
  const Json& config = m.source->config();
  std::string stored = m.is_gguf ? "gguf" : "";
  if (const Json* q = find_key(config, "quantization_config"); q && q->is_object())
    stored = q->value("quant_method", "");
  if (options.quantization.empty() || options.quantization == stored) return;
  throw StartupError(fmt::format("--quantization {}: the checkpoint is stored as {}", options.quantization,
                                 stored.empty() ? "unquantised numbers" : stored),
                     "--quantization", stored.empty() ? "leave it out" : "leave it out, or write " + stored, 2);
}

DType kv_dtype(const LoadOptions& options, bool is_gguf) {
  auto named = [](const std::string& name) {
    return name == "float16" ? DType::f16 : name == "bfloat16" ? DType::bf16 : DType::f32;
  };
  if (options.kv_cache_dtype != "auto") return named(options.kv_cache_dtype);
  if (options.dtype != "auto") return named(options.dtype);
  if (options.device == "cuda") return DType::bf16;
  return is_gguf ? DType::f16 : DType::f32;  // as precise as the rest of the arithmetic
}

std::int64_t wanted_max_model_len(const LoadOptions& options, const ModelInfo& info) {
  if (options.max_model_len <= 0) return 0;
  if (options.max_model_len > info.max_position_embeddings && !options.allow_long_max_model_len)
    throw StartupError(
        fmt::format("--max-model-len {} is more than the model's {} (max_position_embeddings)", options.max_model_len,
                    info.max_position_embeddings),
        "--max-model-len",
        "lower it, extend the model by --hf-overrides '{\"rope_scaling\": …}', or set VLLM_ALLOW_LONG_MAX_MODEL_LEN=1",
        2);
  return options.max_model_len;
}

DeviceRunnerConfig runner_config(const OpenedModel& m, const LoadOptions& options) {
  DeviceRunnerConfig c;
  c.max_batch_tokens = options.engine.max_num_batched_tokens;
  c.max_seqs = options.engine.max_num_seqs;
  c.max_model_len = options.max_model_len > 0 ? options.max_model_len : m.info.max_position_embeddings;
  c.kv_dtype = m.kv_dtype;
  c.logprobs_mode = options.logprobs_mode;
  return c;
}

}  // namespace

std::unique_ptr<Ops> make_ops(const LoadOptions& options) {
  if (options.device == "ref") return make_ref_ops();
  if (options.device == "ref-w8a8") return make_ref_ops({.fp8_activations = true});
  if (options.device == "cuda") {
#ifdef HEARTH_HAS_CUDA
    return make_cuda_ops({});
#else
    throw StartupError("this program was built without CUDA", "--device cuda",
                       "build it where nvcc 13 or newer is installed, or use --device cpu");
#endif
  }
  return make_cpu_ops({.threads = options.threads, .isa = {}});
}

std::int64_t OpenedModel::stored_bytes() const {
  std::int64_t sum = 0;
  for (const auto& [format, s] : stored) sum += s.bytes;
  return sum;
}

OpenedModel open_model(const LoadOptions& options) {
  OpenedModel m;
  m.path = resolve_model(options.model, options.revision, options.cache_dir);
  m.is_gguf = std::filesystem::path(m.path).extension() == ".gguf";
  const bool dummy = options.load_format == "dummy";
  if (dummy && m.is_gguf)
    throw StartupError("--load-format dummy needs a folder with config.json", m.path, "name the model's folder", 2);
  if (options.load_format != "auto" && !dummy && (options.load_format == "gguf") != m.is_gguf)
    throw StartupError("--load-format " + options.load_format + ", and the model is " +
                           (m.is_gguf ? "a GGUF file" : "a folder of safetensors"),
                       m.path, "leave --load-format out", 2);
  m.source =
      dummy ? make_dummy_source(read_config(m.path + "/config.json"), options.engine.seed) : open_checkpoint(m.path);
  if (!options.hf_config_path.empty() || !options.hf_overrides.empty()) {
    Json config = options.hf_config_path.empty() ? m.source->config() : read_config(options.hf_config_path);
    m.source =
        std::make_unique<ConfiguredSource>(std::move(m.source), overridden(std::move(config), options.hf_overrides));
  }
  check_quantization(options, m);
  m.def = &model_for(m.source->config());
  m.info = m.def->make(m.source->config())->info();
  m.kv_dtype = kv_dtype(options, m.is_gguf);
  for (const SourceTensor& t : m.source->tensors()) {
    OpenedModel::Stored& s = m.stored[std::string(format_info(t.format).name)];
    ++s.tensors;
    s.bytes += t.bytes;
  }
  return m;
}

StartPlan plan_model(OpenedModel& m, Ops& ops, const LoadOptions& options, const MachineMemory& machine,
                     std::int64_t text_bytes) {
  PlanningOps planning(ops);
  ShapesOnly shapes(*m.source);
  std::unique_ptr<Model> model = m.def->make(m.source->config());
  Binder binder(shapes, planning);
  model->bind(binder);
  binder.finish();
  m.used_bytes = binder.taken_bytes();
  const DeviceRunnerConfig config = runner_config(m, options);
  const DevicePlan device = plan_device(*model, ops, config);

  MemoryNeeds needs;
  needs.weights = planning.planned_bytes();
  for (const auto& [purpose, bytes] : planning.device().used_bytes()) needs.weights += static_cast<std::int64_t>(bytes);
  needs.activations = device.activations;
  needs.logits = device.logits;
  needs.workspace = device.workspace + device.sampling;
  needs.other = 2 * device.step_tensors;
  needs.program = kProgramBytes + (text_bytes + kMiB - 1) / kMiB * kMiB;
  needs.cache = cache_needs(m.info.cache, m.kv_dtype, config.block_tokens, options.engine.max_num_seqs,
                            wanted_max_model_len(options, m.info));
  needs.cache.max_model_len_limit = m.info.max_position_embeddings;
  MachineMemory memory = machine;
  if (const auto own = ops.device().own_memory())
    memory = {static_cast<std::int64_t>(own->total), static_cast<std::int64_t>(own->available)};
  StartPlan plan = plan_start(memory, options.memory, needs);
  if (!options.engine.enable_chunked_prefill && options.engine.max_num_batched_tokens < plan.plan.cache.max_model_len)
    throw StartupError(
        fmt::format("--max-num-batched-tokens {} is less than --max-model-len {}, and chunked prefill is off",
                    options.engine.max_num_batched_tokens, plan.plan.cache.max_model_len),
        "--no-enable-chunked-prefill",
        "raise --max-num-batched-tokens, lower --max-model-len, or leave chunked prefill on", 2);
  return plan;
}

std::shared_ptr<Engine> load_engine(OpenedModel& m, std::shared_ptr<Ops> ops, const StartPlan& plan,
                                    const LoadOptions& options, Progress& progress, EngineMetrics* metrics) {
  struct Running {
    std::shared_ptr<Ops> ops;
    SteadyClock clock;
    std::unique_ptr<Engine> engine;
  };
  std::unique_ptr<Model> model = m.def->make(m.source->config());
  const auto add = [&progress](std::int64_t bytes) { progress.add(bytes); };
  progress.stage("loading", m.used_bytes);
  Binder binder(*m.source, *ops, add);
  model->bind(binder);
  binder.finish();
  progress.stage("reserving memory",
                 plan.plan.kv_cache + plan.plan.state + plan.plan.activations + plan.plan.logits + plan.plan.other);

  EngineConfig config = options.engine;
  config.max_model_len = static_cast<std::int32_t>(plan.plan.cache.max_model_len);
  auto running = std::make_shared<Running>();
  running->ops = ops;
  DeviceRunnerConfig device = runner_config(m, options);
  device.max_model_len = plan.plan.cache.max_model_len;
  device.num_blocks = plan.plan.cache.num_blocks;
  device.num_state_slots = plan.plan.cache.num_state_slots;
  auto runner = std::make_unique<DeviceRunner>(std::move(model), *ops, device, add);
  progress.finish();
  running->engine = std::make_unique<Engine>(config, std::move(runner), running->clock, metrics);
  return {running, running->engine.get()};
}

}  // namespace hearth
