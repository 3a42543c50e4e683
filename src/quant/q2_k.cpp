// q2_k: y = d·sc·q − dmin·mn, 256 numbers in 84 bytes.
#include "quant/blocks.h"
#include "quant/codecs.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(q2_k) {
  for_each_block<BlockQ2K, 256>(blocks, n, out, [](const BlockQ2K& b, float* y) {
    const float d = f16_to_f32(b.d);
    const float dmin = f16_to_f32(b.dmin);
    for (int i = 0; i < 256; ++i) {
      const int half = i / 128;
      const int c = i % 128 / 32;
      const std::uint8_t s = b.scales[i / 16];
      const int q = (b.qs[32 * half + i % 32] >> (2 * c)) & 3;
      y[i] = d * static_cast<float>(s & 15) * static_cast<float>(q) - dmin * static_cast<float>(s >> 4);
    }
  });
}

}  // namespace hearth::codec
