// gguf_source.h — a GGUF file presented as the Hugging Face checkpoint it was made from (weight_source.h).
#pragma once

#include <memory>
#include <string>

#include "checkpoint/weight_source.h"

namespace hearth {

std::unique_ptr<WeightSource> open_gguf(const std::string& path);

}  // namespace hearth
