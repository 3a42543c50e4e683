// iq4_nl: y = d · table[q], 32 numbers in 18 bytes. iq4_xs: y = d · (sc − 32) · table[q], 256 numbers in 136 bytes.
#include "quant/blocks.h"
#include "quant/codecs.h"
#include "tensor/float16.h"

namespace hearth::codec {
namespace {

void nibbles(const std::uint8_t* qs, float d, float* y) {
  for (int j = 0; j < 16; ++j) {
    y[j] = d * static_cast<float>(kIq4Values[qs[j] & 15]);
    y[j + 16] = d * static_cast<float>(kIq4Values[qs[j] >> 4]);
  }
}

}  // namespace

HEARTH_DECODE(iq4_nl) {
  for_each_block<BlockIq4Nl, 32>(blocks, n, out,
                                 [](const BlockIq4Nl& b, float* y) { nibbles(b.qs, f16_to_f32(b.d), y); });
}

HEARTH_DECODE(iq4_xs) {
  for_each_block<BlockIq4Xs, 256>(blocks, n, out, [](const BlockIq4Xs& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int s = 0; s < 8; ++s) {
      const int low = (b.scales_l[s / 2] >> (4 * (s % 2))) & 15;
      const int high = (b.scales_h >> (2 * s)) & 3;
      nibbles(b.qs + 16 * s, d * static_cast<float>((low | (high << 4)) - 32), y + 32 * s);
    }
  });
}

}  // namespace hearth::codec
