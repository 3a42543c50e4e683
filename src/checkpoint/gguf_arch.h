// gguf_arch.h — what a GGUF architecture is in Hugging Face terms: its configuration and where its tensors go.
//
// To add one: a row in kArchs (gguf_arch.cpp), its names in gguf_names.cpp, its keys in gguf_config.cpp.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/gguf.h"
#include "checkpoint/weight_source.h"

namespace hearth {

struct GgufArch {
  std::string_view name;         // general.architecture, and the prefix of its keys
  std::string_view model_type;   // config.json "model_type"
  std::string_view class_name;   // config.json "architectures"
  bool permuted_rotary = false;  // q and k rows have rotary pairs side by side
  bool experts = false;
  bool hybrid = false;  // Qwen3.5: linear-attention layers, norms stored + 1, tiled value heads, MTP block
};

// StartupError naming the known ones when the file has another.
const GgufArch& gguf_arch(const GgufFile& file);

// config.json and generation_config.json as the original checkpoint would have them.
Json gguf_config(const GgufFile& file, const GgufArch& arch);
Json gguf_generation_config(const GgufFile& file);

// How stored bytes become the Hugging Face tensor.
enum class GgufChange : std::uint8_t {
  none,          // a byte range
  unpermute,     // rows: per head, row 2i + s goes to s · d/2 + i
  minus_one,     // f32: x − 1
  log_negative,  // f32: log(−x)
};

struct GgufPlacement {
  SourceTensor tensor;      // as presented
  std::size_t stored = 0;   // index in file.tensors()
  std::int64_t offset = 0;  // bytes into it
  GgufChange change = GgufChange::none;
  std::int64_t heads = 0;  // unpermute
};

// Every tensor of the file; one that has no place keeps its name, so that whoever fills a model says it is left over.
std::vector<GgufPlacement> place_gguf_tensors(const GgufFile& file, const GgufArch& arch, const Json& config);

}  // namespace hearth
