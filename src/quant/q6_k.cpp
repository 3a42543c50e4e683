// q6_k: y = d·sc·(q − 32), 256 numbers in 210 bytes.
#include <array>

#include "quant/blocks.h"
#include "quant/codecs.h"
#include "quant/range.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(q6_k) {
  for_each_block<BlockQ6K, 256>(blocks, n, out, [](const BlockQ6K& b, float* y) {
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < 256; ++i) {
      const int half = i / 128;
      const int c = i % 128 / 32;  // which quarter of the half
      const int l = i % 32;
      const int low = (b.ql[64 * half + 32 * (c % 2) + l] >> (4 * (c / 2))) & 15;
      const int high = (b.qh[32 * half + l] >> (2 * c)) & 3;
      y[i] = d * static_cast<float>(b.scales[i / 16]) * static_cast<float>((low | (high << 4)) - 32);
    }
  });
}

// A plain choice: each 16 numbers put their largest magnitude at q = 0, and d the largest scale at ±127.
HEARTH_ENCODE(q6_k) {
  make_each_block<BlockQ6K, 256>(in, n, blocks, [](const float* x) {
    std::array<float, 16> scale{};
    for (std::size_t s = 0; s < 16; ++s) scale[s] = largest_magnitude(x + 16 * s, 16) / -32;
    BlockQ6K b{{}, {}, {}, f32_to_f16(std::fabs(largest_magnitude(scale.data(), 16)) / 127)};
    const float d = f16_to_f32(b.d);
    for (int i = 0; i < 256; ++i) {
      const auto s = static_cast<std::size_t>(i / 16);
      if (i % 16 == 0) b.scales[s] = d > 0 ? to_signed_quant(scale[s] / d) : std::int8_t{0};
      const float step = d * static_cast<float>(b.scales[s]);
      const int q = step != 0 ? to_quant(std::round(x[i] / step) + 32, 63) : 32;
      const int half = i / 128;
      const int c = i % 128 / 32;
      std::uint8_t& low = b.ql[64 * half + 32 * (c % 2) + i % 32];
      std::uint8_t& high = b.qh[32 * half + i % 32];
      low = static_cast<std::uint8_t>(low | ((q & 15) << (4 * (c / 2))));
      high = static_cast<std::uint8_t>(high | ((q >> 4) << (2 * c)));
    }
    return b;
  });
}

}  // namespace hearth::codec
