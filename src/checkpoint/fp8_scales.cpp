#include "checkpoint/fp8_scales.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>

#include "base/status.h"
#include "checkpoint/hf_config.h"
#include "quant/fp8_block128.h"

namespace hearth {
namespace {

constexpr std::string_view kSuffix = "_scale_inv";

std::string place(const WeightSource& source, const SourceTensor& t) { return source.where(t) + ": " + t.name; }

std::vector<std::int64_t> scale_shape(const SourceTensor& weight) {
  return {fp8_blocks(weight.shape[0]), fp8_blocks(weight.shape[1])};
}

}  // namespace

void check_quantization_config(const Json& config, const std::string& file) {
  const Json* q = find_key(config, "quantization_config");
  if (q == nullptr) q = find_key(text_config(config), "quantization_config");
  if (q == nullptr) return;
  const auto refuse = [&](std::string_view key, const std::string& expected, const Json* found) {
    throw StartupError(
        fmt::format("expected {}, found {}", expected, found == nullptr ? "nothing" : dump_json(*found)),
        fmt::format("{}: quantization_config.{}", file, key),
        "weights in FP8 (E4M3) with 128×128 block scales, BF16, F16 and F32 can be used, or a GGUF file");
  };
  const auto value = [&](std::string_view key, const Json& fallback) {
    const Json* v = find_key(*q, key);
    return v == nullptr ? fallback : *v;
  };
  if (value("quant_method", nullptr) != Json("fp8")) refuse("quant_method", "\"fp8\"", find_key(*q, "quant_method"));
  if (value("weight_block_size", nullptr) != Json({128, 128}))
    refuse("weight_block_size", "[128,128]", find_key(*q, "weight_block_size"));
  if (value("activation_scheme", "dynamic") != Json("dynamic"))
    refuse("activation_scheme", "\"dynamic\"", find_key(*q, "activation_scheme"));
  if (value("fmt", "e4m3") != Json("e4m3")) refuse("fmt", "\"e4m3\"", find_key(*q, "fmt"));
}

void check_fp8_scales(const WeightSource& source) {
  for (const SourceTensor& t : source.tensors()) {
    if (t.format == Format::f8_e4m3) {
      if (t.shape.size() != 2) {
        throw StartupError(
            fmt::format("expected an FP8 matrix [rows, columns], found shape [{}]", fmt::join(t.shape, ", ")),
            place(source, t), "FP8 weights are read as one matrix a tensor");
      }
      const SourceTensor* s = source.find(t.name + std::string(kSuffix));
      const std::vector<std::int64_t> expected = scale_shape(t);
      if (s == nullptr) {
        throw StartupError(fmt::format("the FP8 weight has no scales: expected {}{} of shape [{}], found none", t.name,
                                       kSuffix, fmt::join(expected, ", ")),
                           place(source, t), "the checkpoint is incomplete: fetch it again");
      }
      if (s->shape != expected) {
        throw StartupError(fmt::format("expected shape [{}] for a weight of [{}], found [{}]",
                                       fmt::join(expected, ", "), fmt::join(t.shape, ", "), fmt::join(s->shape, ", ")),
                           place(source, *s), "one scale for each block of 128 × 128");
      }
      if (s->format != Format::bf16 && s->format != Format::f16 && s->format != Format::f32) {
        throw StartupError(fmt::format("expected scales in BF16, F16 or F32, found {}", format_info(s->format).name),
                           place(source, *s), "the checkpoint uses a form of FP8 that is not read here");
      }
    } else if (t.name.ends_with(kSuffix)) {
      const std::string weight = t.name.substr(0, t.name.size() - kSuffix.size());
      const SourceTensor* w = source.find(weight);
      if (w == nullptr || w->format != Format::f8_e4m3) {
        throw StartupError(fmt::format("expected an F8_E4M3 weight {} for these scales, found {}", weight,
                                       w == nullptr ? "none" : format_info(w->format).name),
                           place(source, t), "the checkpoint is incomplete or mixed: fetch it again");
      }
    }
  }
}

std::vector<float> read_fp8_scales(WeightSource& source, const SourceTensor& weight) {
  const SourceTensor* s = source.find(weight.name + std::string(kSuffix));
  if (s == nullptr || s->shape != scale_shape(weight) || !format_info(s->format).is_float_weight)
    check_fp8_scales(source);
  std::vector<std::byte> bytes(static_cast<std::size_t>(s->bytes));
  source.read(*s, bytes);
  std::vector<float> scales(static_cast<std::size_t>(s->shape[0] * s->shape[1]));
  format_info(s->format).dequantize(bytes.data(), static_cast<std::int64_t>(scales.size()), scales.data());
  for (std::size_t i = 0; i < scales.size(); ++i) {
    if (!std::isfinite(scales[i]) || scales[i] < 0) {
      const auto across = static_cast<std::size_t>(s->shape[1]);
      throw StartupError(
          fmt::format("expected finite scales, not negative, found {} at [{}, {}]",
                      std::isnan(scales[i]) ? "NaN" : fmt::format("{}", scales[i]), i / across, i % across),
          place(source, *s), "the checkpoint is damaged: fetch it again");
    }
  }
  return scales;
}

}  // namespace hearth
