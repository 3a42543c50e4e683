#include "checkpoint/gguf_arch.h"

#include <fmt/format.h>

#include <array>

#include "base/status.h"

namespace hearth {
namespace {

constexpr std::array<GgufArch, 6> kArchs{{
    {.name = "llama", .model_type = "llama", .class_name = "LlamaForCausalLM", .permuted_rotary = true},
    {.name = "qwen2", .model_type = "qwen2", .class_name = "Qwen2ForCausalLM"},
    {.name = "qwen3", .model_type = "qwen3", .class_name = "Qwen3ForCausalLM"},
    {.name = "qwen3moe", .model_type = "qwen3_moe", .class_name = "Qwen3MoeForCausalLM", .experts = true},
    {.name = "qwen35", .model_type = "qwen3_5", .class_name = "Qwen3_5ForConditionalGeneration", .hybrid = true},
    {.name = "qwen35moe",
     .model_type = "qwen3_5_moe",
     .class_name = "Qwen3_5MoeForConditionalGeneration",
     .experts = true,
     .hybrid = true},
}};

}  // namespace

const GgufArch& gguf_arch(const GgufFile& file) {
  const std::string name = file.need_string("general.architecture");
  std::string known;
  for (const GgufArch& a : kArchs) {
    if (a.name == name) return a;
    known += fmt::format("{}{}", known.empty() ? "" : ", ", a.name);
  }
  throw StartupError(fmt::format("expected an architecture that is read here ({}), found \"{}\"", known, name),
                     file.path() + ": general.architecture", "take a model of one of these architectures");
}

}  // namespace hearth
