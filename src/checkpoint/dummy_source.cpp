#include "checkpoint/dummy_source.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <unordered_set>

#include "base/check.h"
#include "base/rng.h"
#include "base/status.h"
#include "tensor/float16.h"

namespace hearth {
namespace {

constexpr std::size_t kTable = std::size_t{1} << 24;
constexpr float kDeviation = 0.02f,
                kScale = 0.02f / 64;  // FP8: codes with a deviation of 64, far from 448 and from 2⁻⁶

class DummySource final : public WeightSource {
 public:
  DummySource(Json config, std::uint64_t seed) : config_(std::move(config)), seed_(seed) {
    const Json& text = config_.contains("text_config") ? config_["text_config"] : config_;
    const std::string dtype = text.value(
        "dtype", text.value("torch_dtype", config_.value("dtype", config_.value("torch_dtype", "bfloat16"))));
    plain_ = dtype == "float32" ? Format::f32 : dtype == "float16" ? Format::f16 : Format::bf16;
    if (config_.contains("quantization_config")) {
      const Json& q = config_["quantization_config"];
      if (q.value("quant_method", "") != "fp8")
        throw StartupError("made-up weights cannot be quantised as " + q.value("quant_method", "?"),
                           "quantization_config", "use a config.json of fp8 or without quantization_config");
      fp8_ = true;
      if (q.contains("modules_to_not_convert"))
        for (const Json& name : q["modules_to_not_convert"]) exempt_.insert(name.get<std::string>());
    }
    Rng rng(seed);
    numbers_.resize(kTable);
    for (float& x : numbers_) x = static_cast<float>(rng.normal());
    make_table(Format::f32);
    make_table(plain_);
    if (fp8_) make_table(Format::f8_e4m3);
    numbers_ = {};
  }

  const std::vector<SourceTensor>& tensors() const override { return tensors_; }
  const SourceTensor* find(std::string_view name) const override {
    // Which of two places a model keeps its language part in is the only thing that is asked before a tensor is.
    if (name.starts_with("model.language_model.") && !config_.contains("text_config")) return nullptr;
    const auto at = by_name_.find(name);
    static const SourceTensor some;
    return at != by_name_.end() ? &made_[at->second] : &some;
  }
  const SourceTensor* want(std::string_view name, std::span<const std::int64_t> shape) override {
    if (const auto at = by_name_.find(name); at != by_name_.end()) return &made_[at->second];
    const bool matrix = shape.size() == 2;
    const std::string module(name.substr(0, name.rfind('.')));
    const bool quantised = fp8_ && matrix && name.ends_with(".weight") && !exempt_.contains(module);
    const Format format = quantised ? Format::f8_e4m3 : matrix ? plain_ : Format::f32;
    const SourceTensor& t = make(std::string(name), format, {shape.begin(), shape.end()});
    if (quantised)
      make(std::string(name) + "_scale_inv", Format::f32, {(shape[0] + 127) / 128, (shape[1] + 127) / 128});
    return &t;
  }

  void read_range(const SourceTensor& t, std::int64_t offset, std::span<std::byte> dst) override {
    if (t.name.ends_with("_scale_inv")) {
      for (std::size_t i = 0; i < dst.size(); i += sizeof(float)) std::memcpy(dst.data() + i, &kScale, sizeof(float));
      return;
    }
    const std::vector<std::byte>& table = tables_.at(t.format);
    const auto size = static_cast<std::size_t>(format_info(t.format).block_bytes);
    std::size_t at =
        (mix64(seed_ ^ std::hash<std::string>()(t.name)) % kTable * size + static_cast<std::size_t>(offset)) %
        table.size();
    for (std::size_t done = 0; done < dst.size();) {
      const std::size_t n = std::min(dst.size() - done, table.size() - at);
      std::memcpy(dst.data() + done, table.data() + at, n);
      done += n;
      at = 0;
    }
    if (t.format == Format::f32) around(t, dst);
  }
  const Json& config() const override { return config_; }
  const Json& generation_config() const override { return none_; }
  std::string where(const SourceTensor&) const override { return "made-up weights"; }

 private:
  const SourceTensor& make(std::string name, Format format, std::vector<std::int64_t> shape) {
    std::int64_t numbers = 1;
    for (const std::int64_t d : shape) numbers *= d;
    by_name_.emplace(name, made_.size());
    made_.push_back({std::move(name), format, std::move(shape), numbers * format_info(format).block_bytes});
    tensors_.push_back(made_.back());
    return made_.back();
  }
  void make_table(Format format) {
    std::vector<std::byte>& table = tables_[format];
    const auto size = static_cast<std::size_t>(format_info(format).block_bytes);
    table.resize(kTable * size);
    for (std::size_t i = 0; i < kTable; ++i) {
      if (format == Format::f8_e4m3) {
        table[i] = static_cast<std::byte>(f32_to_e4m3(numbers_[i] * (kDeviation / kScale)));
        continue;
      }
      const float x = numbers_[i] * kDeviation;
      const std::uint16_t half = format == Format::f16 ? f32_to_f16(x) : f32_to_bf16(x);
      std::memcpy(table.data() + i * size, format == Format::f32 ? static_cast<const void*>(&x) : &half, size);
    }
  }
  // Norms that multiply by their weight alone lie around 1; Qwen3.5 adds 1 itself, but for the one behind the delta net.
  void around(const SourceTensor& t, std::span<std::byte> dst) const {
    const bool adds_one = config_.value("model_type", "").starts_with("qwen3_5");
    if (!t.name.ends_with("norm.weight") || (adds_one && !t.name.ends_with("linear_attn.norm.weight"))) return;
    for (std::size_t i = 0; i < dst.size(); i += sizeof(float)) {
      float x = 0;
      std::memcpy(&x, dst.data() + i, sizeof x);
      x += 1;
      std::memcpy(dst.data() + i, &x, sizeof x);
    }
  }

  Json config_, none_ = Json::object();
  std::uint64_t seed_;
  Format plain_ = Format::bf16;
  bool fp8_ = false;
  std::unordered_set<std::string> exempt_;
  std::vector<float> numbers_;
  std::map<Format, std::vector<std::byte>> tables_;
  std::deque<SourceTensor> made_;
  std::vector<SourceTensor> tensors_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

}  // namespace

std::unique_ptr<WeightSource> make_dummy_source(Json config, std::uint64_t seed) {
  return std::make_unique<DummySource>(std::move(config), seed);
}

}  // namespace hearth
