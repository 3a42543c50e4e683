// f32, f64: stored as they are; f64 is rounded to f32 on reading.
#include <cstring>

#include "quant/codecs.h"

namespace hearth::codec {

HEARTH_DECODE(f32) { std::memcpy(out, blocks, static_cast<std::size_t>(n) * 4); }
HEARTH_ENCODE(f32) { std::memcpy(blocks, in, static_cast<std::size_t>(n) * 4); }

HEARTH_DECODE(f64) {
  for (std::int64_t i = 0; i < n; ++i) {
    double v = 0;
    std::memcpy(&v, blocks + 8 * i, 8);
    out[i] = static_cast<float>(v);
  }
}
HEARTH_ENCODE(f64) {
  for (std::int64_t i = 0; i < n; ++i) {
    const double v = in[i];
    std::memcpy(blocks + 8 * i, &v, 8);
  }
}

}  // namespace hearth::codec
