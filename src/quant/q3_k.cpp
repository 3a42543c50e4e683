// q3_k: y = d·(sc − 32)·q with q from −4 to 3, 256 numbers in 110 bytes.
#include "quant/blocks.h"
#include "quant/codecs.h"
#include "tensor/float16.h"

namespace hearth::codec {
namespace {

// Scale s (0 … 15), 6 bits: the low four in half a byte of scales[0 … 7], the high two in a quarter of scales[8 … 11].
int scale(const BlockQ3K& b, int s) {
  const int low = (b.scales[s % 8] >> (s < 8 ? 0 : 4)) & 15;
  const int high = (b.scales[8 + s % 4] >> (2 * (s / 4))) & 3;
  return (low | (high << 4)) - 32;
}

}  // namespace

HEARTH_DECODE(q3_k) {
  for_each_block<BlockQ3K, 256>(blocks, n, out, [](const BlockQ3K& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < 256; ++i) {
      const int half = i / 128;
      const int c = i % 128 / 32;
      const int low = (b.qs[32 * half + i % 32] >> (2 * c)) & 3;
      const int high = (b.hmask[i % 32] >> (4 * half + c)) & 1;
      y[i] = d * static_cast<float>(scale(b, i / 16)) * static_cast<float>(low - (high ? 0 : 4));
    }
  });
}

}  // namespace hearth::codec
