// q8_0: y = d · q, 32 numbers in 34 bytes.
#include <cmath>

#include "quant/blocks.h"
#include "quant/codecs.h"
#include "quant/range.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(q8_0) {
  for_each_block<BlockQ8_0, 32>(blocks, n, out, [](const BlockQ8_0& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int j = 0; j < 32; ++j) y[j] = d * static_cast<float>(b.qs[j]);
  });
}

HEARTH_ENCODE(q8_0) {
  make_each_block<BlockQ8_0, 32>(in, n, blocks, [](const float* x) {
    const float d = std::fabs(largest_magnitude(x, 32)) / 127;
    const float inv = d == 0 ? 0 : 1 / d;
    BlockQ8_0 b{f32_to_f16(d), {}};
    for (int j = 0; j < 32; ++j) b.qs[j] = to_signed_quant(x[j] * inv);
    return b;
  });
}

}  // namespace hearth::codec
