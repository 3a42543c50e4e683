// q5_k: y = d·sc·q − dmin·mn, 256 numbers in 176 bytes.
#include "quant/blocks.h"
#include "quant/codecs.h"
#include "quant/k_affine.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(q5_k) {
  for_each_block<BlockQ5K, 256>(blocks, n, out, [](const BlockQ5K& b, float* y) {
    const float d = f16_to_f32(b.d);
    const float dmin = f16_to_f32(b.dmin);
    for (int s = 0; s < 8; ++s) {
      const ScaleMin k = k_scale_min(b.scales, s);
      const float scale = d * static_cast<float>(k.scale);
      const float min = dmin * static_cast<float>(k.min);
      const std::uint8_t* qs = b.qs + 32 * (s / 2);
      for (int l = 0; l < 32; ++l) {
        const int q = ((qs[l] >> (4 * (s % 2))) & 15) | (((b.qh[l] >> s) & 1) << 4);
        y[32 * s + l] = scale * static_cast<float>(q) - min;
      }
    }
  });
}

HEARTH_ENCODE(q5_k) {
  make_each_block<BlockQ5K, 256>(in, n, blocks, [](const float* x) {
    const KAffine k = quantize_k_affine(x, 31);
    BlockQ5K b{k.d, k.dmin, {}, {}, {}};
    pack_k_scale_min(k.sub.data(), b.scales);
    for (std::size_t i = 0; i < 128; ++i) {
      const std::size_t lo = 64 * (i / 32) + i % 32;
      b.qs[i] = static_cast<std::uint8_t>((k.q[lo] & 15) | ((k.q[lo + 32] & 15) << 4));
    }
    for (std::size_t i = 0; i < 256; ++i)
      b.qh[i % 32] = static_cast<std::uint8_t>(b.qh[i % 32] | ((k.q[i] >> 4) << (i / 32)));
    return b;
  });
}

}  // namespace hearth::codec
