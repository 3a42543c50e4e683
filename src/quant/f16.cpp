// f16: two bytes a number (tensor/float16.h).
#include <cstring>

#include "quant/codecs.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(f16) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::uint16_t v = 0;
    std::memcpy(&v, blocks + 2 * i, 2);
    out[i] = f16_to_f32(v);
  }
}

HEARTH_ENCODE(f16) {
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint16_t v = f32_to_f16(in[i]);
    std::memcpy(blocks + 2 * i, &v, 2);
  }
}

}  // namespace hearth::codec
