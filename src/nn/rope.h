// rope.h — the rotary frequencies of a configuration.
//
//   f_i = 1 / θ^(2i / R),  i < R / 2      evaluated in f32, as the official code does: precision is part of the definition
//   llama3   f_i / factor where the wavelength is long, f_i where it is short, a blend between
//   linear   f_i / factor
//
// R         head_dim · partial_rotary_factor, even
// Errors    StartupError for a rope_type that is not offered (yarn, dynamic, longrope …), by name.
// Source    RoFormer, arXiv:2104.09864; The Llama 3 Herd of Models, arXiv:2407.21783 (long context).
#pragma once

#include <cstdint>
#include <vector>

#include "base/json.h"

namespace hearth {

// text: the language model's configuration. Divides by "rope_freq_factors" when it has them (GGUF keeps Llama 3's scaling so).
std::vector<float> rope_inv_freq(const Json& text, std::int64_t head_dim);

}  // namespace hearth
