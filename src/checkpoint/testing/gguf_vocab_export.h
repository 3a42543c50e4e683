// gguf_vocab_export.h — tokenizer.json (byte-level BPE) and the chat template as tokenizer.* metadata.
#pragma once

#include <string>

#include "checkpoint/gguf.h"
#include "checkpoint/weight_source.h"

namespace hearth {

void export_gguf_vocab(const std::string& folder, const WeightSource& hf, const std::string& arch,
                       GgufMetadata& metadata);

}  // namespace hearth
