// q5_1: y = d · q + m, 32 numbers in 24 bytes.
#include "quant/blocks.h"
#include "quant/codecs.h"
#include "quant/range.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(q5_1) {
  for_each_block<BlockQ5_1, 32>(blocks, n, out, [](const BlockQ5_1& b, float* y) {
    const float d = f16_to_f32(b.d);
    const float m = f16_to_f32(b.m);
    for (int j = 0; j < 16; ++j) {
      const int lo = (b.qs[j] & 15) | (((b.qh[j / 8] >> (j % 8)) & 1) << 4);
      const int hi = (b.qs[j] >> 4) | (((b.qh[2 + j / 8] >> (j % 8)) & 1) << 4);
      y[j] = d * static_cast<float>(lo) + m;
      y[j + 16] = d * static_cast<float>(hi) + m;
    }
  });
}

HEARTH_ENCODE(q5_1) {
  make_each_block<BlockQ5_1, 32>(in, n, blocks, [](const float* x) {
    const MinMax r = min_max(x, 32);
    const float d = (r.max - r.min) / 31;
    const float inv = d == 0 ? 0 : 1 / d;
    BlockQ5_1 b{f32_to_f16(d), f32_to_f16(r.min), {}, {}};
    for (int j = 0; j < 32; ++j) {
      const int q = to_quant((x[j] - r.min) * inv + 0.5f, 31);
      b.qs[j % 16] = static_cast<std::uint8_t>(b.qs[j % 16] | ((q & 15) << (j < 16 ? 0 : 4)));
      b.qh[j / 8] = static_cast<std::uint8_t>(b.qh[j / 8] | ((q >> 4) << (j % 8)));
    }
    return b;
  });
}

}  // namespace hearth::codec
