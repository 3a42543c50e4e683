// block_scales.h — the f16 scales and minima inside block formats: one that is no finite number spoils its whole block.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "quant/format.h"

namespace hearth {

// The first block (counted from the front of `blocks`) with a scale or minimum that is NaN or infinite; -1: none. A format
// without f16 scales has none.
std::int64_t find_bad_scale(Format format, std::span<const std::byte> blocks);

}  // namespace hearth
