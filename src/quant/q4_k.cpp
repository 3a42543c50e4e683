// q4_k: y = d·sc·q − dmin·mn, 256 numbers in 144 bytes.
#include "quant/blocks.h"
#include "quant/codecs.h"
#include "quant/k_affine.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(q4_k) {
  for_each_block<BlockQ4K, 256>(blocks, n, out, [](const BlockQ4K& b, float* y) {
    const float d = f16_to_f32(b.d);
    const float dmin = f16_to_f32(b.dmin);
    for (int s = 0; s < 8; ++s) {
      const ScaleMin k = k_scale_min(b.scales, s);
      const float scale = d * static_cast<float>(k.scale);
      const float min = dmin * static_cast<float>(k.min);
      const std::uint8_t* qs = b.qs + 32 * (s / 2);
      for (int l = 0; l < 32; ++l) y[32 * s + l] = scale * static_cast<float>((qs[l] >> (4 * (s % 2))) & 15) - min;
    }
  });
}

HEARTH_ENCODE(q4_k) {
  make_each_block<BlockQ4K, 256>(in, n, blocks, [](const float* x) {
    const KAffine k = quantize_k_affine(x, 15);
    BlockQ4K b{k.d, k.dmin, {}, {}};
    pack_k_scale_min(k.sub.data(), b.scales);
    for (std::size_t i = 0; i < 128; ++i) {
      const std::size_t lo = 64 * (i / 32) + i % 32;
      b.qs[i] = static_cast<std::uint8_t>(k.q[lo] | (k.q[lo + 32] << 4));
    }
    return b;
  });
}

}  // namespace hearth::codec
