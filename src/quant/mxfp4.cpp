// mxfp4: y = 2^(e−127) · E2M1(q), 32 numbers in 17 bytes. Computed as 2^(e−128) times the doubled value, which is exact.
#include <cmath>

#include "quant/blocks.h"
#include "quant/codecs.h"
#include "quant/range.h"

namespace hearth::codec {

HEARTH_DECODE(mxfp4) {
  for_each_block<BlockMxfp4, 32>(blocks, n, out, [](const BlockMxfp4& b, float* y) {
    const float d = std::ldexp(1.0f, static_cast<int>(b.e) - 128);
    for (int j = 0; j < 16; ++j) {
      y[j] = d * static_cast<float>(kMxfp4Doubled[b.qs[j] & 15]);
      y[j + 16] = d * static_cast<float>(kMxfp4Doubled[b.qs[j] >> 4]);
    }
  });
}

// The exponent puts the largest magnitude into [4, 8), where E2M1 ends (6); each number goes to the nearest value,
// ties to the smaller code.
HEARTH_ENCODE(mxfp4) {
  make_each_block<BlockMxfp4, 32>(in, n, blocks, [](const float* x) {
    const float top = std::fabs(largest_magnitude(x, 32));
    BlockMxfp4 b{};
    if (top > 0 && std::isfinite(top)) b.e = static_cast<std::uint8_t>(std::clamp(std::ilogb(top) - 2 + 127, 0, 254));
    const float d = std::ldexp(1.0f, static_cast<int>(b.e) - 128);
    for (int j = 0; j < 32; ++j) {
      int best = 0;
      float error = INFINITY;
      for (int q = 0; q < 16; ++q) {
        const float e = std::fabs(d * static_cast<float>(kMxfp4Doubled[q]) - x[j]);
        if (e < error) {
          error = e;
          best = q;
        }
      }
      b.qs[j % 16] = static_cast<std::uint8_t>(b.qs[j % 16] | (best << (j < 16 ? 0 : 4)));
    }
    return b;
  });
}

}  // namespace hearth::codec
