// weight_source.h — one checkpoint's tensors and configuration under their Hugging Face names, whatever the container.
//
// A GGUF file is presented as the Hugging Face checkpoint it was made from: names (model.layers.0.self_attn.q_proj.weight),
// orientation [out, in], row order (llama q/k rows un-permuted), norm weights and A_log in their Hugging Face meaning, stacked
// experts as mlp.experts.{e}.gate_proj.weight …, configuration as config.json keys. What cannot be undone on quantised
// weights is said in the configuration: "linear_value_head_order": "tiled" for Qwen3.5 GGUF (HeadMap::tiled).
// Fused 3-D experts of BF16 checkpoints (experts.gate_up_proj, experts.down_proj) are presented per expert, too.
//
// Errors    StartupError with file, tensor, expected and found. Shapes and byte ranges are checked before anything is read.
// Threads   read() and read_range() may be called from several threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "quant/format.h"

namespace hearth {

struct SourceTensor {
  std::string name;                 // Hugging Face name
  Format format = Format::f32;      // as stored
  std::vector<std::int64_t> shape;  // row-major; the last axis is contiguous
  std::int64_t bytes = 0;
};

class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual const std::vector<SourceTensor>& tensors() const = 0;
  virtual const SourceTensor* find(std::string_view name) const = 0;  // null when absent
  // The same, by one who knows what shape it must have; a source that makes up its weights gives them that shape.
  virtual const SourceTensor* want(std::string_view name, std::span<const std::int64_t> shape) {
    (void)shape;
    return find(name);
  }
  // Bytes [offset, offset + dst.size()) of the tensor in its stored format, in Hugging Face order; whole rows.
  virtual void read_range(const SourceTensor& tensor, std::int64_t offset, std::span<std::byte> dst) = 0;
  void read(const SourceTensor& tensor, std::span<std::byte> dst) { read_range(tensor, 0, dst); }
  virtual const Json& config() const = 0;                           // config.json, or its equivalent from GGUF metadata
  virtual const Json& generation_config() const = 0;                // {} when absent
  virtual std::string where(const SourceTensor& tensor) const = 0;  // file name for messages
};

// path: a folder with config.json and safetensors (single or sharded with index), or a .gguf file.
std::unique_ptr<WeightSource> open_checkpoint(const std::string& path);

}  // namespace hearth
