// fp8_scales.h — the multipliers of block-128 FP8 weights: present, shaped, and numbers.
//
// A weight is block-128 FP8 iff its stored format is F8_E4M3. Then <name>_scale_inv exists in BF16, F16 or F32,
// [⌈N/128⌉, ⌈K/128⌉], and multiplies.
//
// Errors    StartupError with tensor, expected and found.
#pragma once

#include <vector>

#include "base/json.h"
#include "checkpoint/weight_source.h"

namespace hearth {

// config["quantization_config"], if any, must be what this program computes: FP8 in blocks of [128, 128].
void check_quantization_config(const Json& config, const std::string& file);

// Every F8_E4M3 tensor is a matrix with its scales, and every scale tensor has its F8_E4M3 matrix. Reads nothing.
void check_fp8_scales(const WeightSource& source);

// The scales of one F8_E4M3 matrix as f32; an error when one is NaN, infinite or negative.
std::vector<float> read_fp8_scales(WeightSource& source, const SourceTensor& weight);

}  // namespace hearth
