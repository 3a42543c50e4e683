// dummy_source.h — weights made up from a configuration (`--load-format dummy`): a model's size and speed without its files.
//
// Tensors   whatever the model asks for, in the shape it asks for. Matrices are in the format that config.json names: block-128
//           FP8 where quantization_config says so and modules_to_not_convert does not exempt them, else torch_dtype.
// Numbers   normal with standard deviation 0.02, around 1 for norms that multiply by their weight; drawn once from the seed
//           into a table of 2²⁴ numbers, of which each tensor takes a stretch that its name chooses.
// Cost      a copy a tensor.
// Threads   read() may be called from several threads.
#pragma once

#include <memory>

#include "checkpoint/weight_source.h"

namespace hearth {

std::unique_ptr<WeightSource> make_dummy_source(Json config, std::uint64_t seed);

}  // namespace hearth
