// q4_1: y = d · q + m, 32 numbers in 20 bytes.
#include "quant/blocks.h"
#include "quant/codecs.h"
#include "quant/range.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(q4_1) {
  for_each_block<BlockQ4_1, 32>(blocks, n, out, [](const BlockQ4_1& b, float* y) {
    const float d = f16_to_f32(b.d);
    const float m = f16_to_f32(b.m);
    for (int j = 0; j < 16; ++j) {
      y[j] = d * static_cast<float>(b.qs[j] & 15) + m;
      y[j + 16] = d * static_cast<float>(b.qs[j] >> 4) + m;
    }
  });
}

HEARTH_ENCODE(q4_1) {
  make_each_block<BlockQ4_1, 32>(in, n, blocks, [](const float* x) {
    const MinMax r = min_max(x, 32);
    const float d = (r.max - r.min) / 15;
    const float inv = d == 0 ? 0 : 1 / d;
    BlockQ4_1 b{f32_to_f16(d), f32_to_f16(r.min), {}};
    for (int j = 0; j < 16; ++j) {
      const std::uint8_t lo = to_quant((x[j] - r.min) * inv + 0.5f, 15);
      const std::uint8_t hi = to_quant((x[j + 16] - r.min) * inv + 0.5f, 15);
      b.qs[j] = static_cast<std::uint8_t>(lo | (hi << 4));
    }
    return b;
  });
}

}  // namespace hearth::codec
