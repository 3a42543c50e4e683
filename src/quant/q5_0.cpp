// q5_0: y = d · (q − 16), 32 numbers in 22 bytes.
#include "quant/blocks.h"
#include "quant/codecs.h"
#include "quant/range.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(q5_0) {
  for_each_block<BlockQ5_0, 32>(blocks, n, out, [](const BlockQ5_0& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int j = 0; j < 16; ++j) {
      const int lo = (b.qs[j] & 15) | (((b.qh[j / 8] >> (j % 8)) & 1) << 4);
      const int hi = (b.qs[j] >> 4) | (((b.qh[2 + j / 8] >> (j % 8)) & 1) << 4);
      y[j] = d * static_cast<float>(lo - 16);
      y[j + 16] = d * static_cast<float>(hi - 16);
    }
  });
}

HEARTH_ENCODE(q5_0) {
  make_each_block<BlockQ5_0, 32>(in, n, blocks, [](const float* x) {
    const float d = largest_magnitude(x, 32) / -16;
    const float inv = d == 0 ? 0 : 1 / d;
    BlockQ5_0 b{f32_to_f16(d), {}, {}};
    for (int j = 0; j < 32; ++j) {
      const int q = to_quant(x[j] * inv + 16.5f, 31);
      b.qs[j % 16] = static_cast<std::uint8_t>(b.qs[j % 16] | ((q & 15) << (j < 16 ? 0 : 4)));
      b.qh[j / 8] = static_cast<std::uint8_t>(b.qh[j / 8] | ((q >> 4) << (j % 8)));
    }
    return b;
  });
}

}  // namespace hearth::codec
