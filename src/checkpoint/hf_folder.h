// hf_folder.h — a Hugging Face checkpoint folder: config.json, generation_config.json, one or several .safetensors files.
#pragma once

#include <memory>
#include <string>

#include "checkpoint/weight_source.h"

namespace hearth {

// model.safetensors, or the shards that model.safetensors.index.json names, or else the folder's only .safetensors file.
std::unique_ptr<WeightSource> open_hf_folder(const std::string& folder);

}  // namespace hearth
