// f8_e4m3, f8_e5m2: one byte a number. E4M3 comes with block scales (fp8_block128.h); here are the bare values.
#include "quant/codecs.h"
#include "tensor/float16.h"

namespace hearth::codec {

HEARTH_DECODE(f8_e4m3) {
  for (std::int64_t i = 0; i < n; ++i) out[i] = e4m3_to_f32(static_cast<std::uint8_t>(blocks[i]));
}

HEARTH_ENCODE(f8_e4m3) {
  for (std::int64_t i = 0; i < n; ++i) blocks[i] = static_cast<std::byte>(f32_to_e4m3(in[i]));
}

// E5M2 is the upper byte of an f16.
HEARTH_DECODE(f8_e5m2) {
  for (std::int64_t i = 0; i < n; ++i)
    out[i] = f16_to_f32(static_cast<std::uint16_t>(static_cast<unsigned>(blocks[i]) << 8));
}

}  // namespace hearth::codec
