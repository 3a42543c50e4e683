// q4_0: y = d · (q − 8), 32 numbers in 18 bytes.
#include <cmath>

#include "quant/blocks.h"
#include "quant/codecs.h"
#include "quant/range.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(q4_0) {
  for_each_block<BlockQ4_0, 32>(blocks, n, out, [](const BlockQ4_0& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int j = 0; j < 16; ++j) {
      y[j] = d * static_cast<float>((b.qs[j] & 15) - 8);
      y[j + 16] = d * static_cast<float>((b.qs[j] >> 4) - 8);
    }
  });
}

// d puts the number of largest magnitude at q = 0, the end of the range that has one value more.
HEARTH_ENCODE(q4_0) {
  make_each_block<BlockQ4_0, 32>(in, n, blocks, [](const float* x) {
    const float d = largest_magnitude(x, 32) / -8;
    const float inv = d == 0 ? 0 : 1 / d;
    BlockQ4_0 b{f32_to_f16(d), {}};
    for (int j = 0; j < 16; ++j) {
      b.qs[j] =
          static_cast<std::uint8_t>(to_quant(x[j] * inv + 8.5f, 15) | (to_quant(x[j + 16] * inv + 8.5f, 15) << 4));
    }
    return b;
  });
}

}  // namespace hearth::codec
