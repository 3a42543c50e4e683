// hf_to_gguf.h — writes a Hugging Face checkpoint as a GGUF file, the way converters do, so that models can be tested from both.
//
// What changes on the way is the table of docs/models/gguf.md read backwards: llama q/k rows permuted, Qwen3.5 norms + 1,
// ssm_a = −exp(A_log), value heads tiled, experts stacked. FP8 weights are widened first. The vision tower is left out.
#pragma once

#include <string>

#include "checkpoint/weight_source.h"
#include "quant/format.h"

namespace hearth {

struct GgufExport {
  Format matrices = Format::f32;  // of large matrices whose rows fill its blocks; the rest stays f32
  std::string tokenizer_folder;   // with tokenizer.json (byte-level BPE), chat_template.jinja; empty: no vocabulary
};

void write_gguf_from_hf(WeightSource& hf, const std::string& path, const GgufExport& options = {});

}  // namespace hearth
