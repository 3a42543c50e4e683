#include "quant/block_scales.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace hearth {
namespace {

// Each two bytes of a block set to NaN, to infinity, to a number: the check tells exactly what decoding gives.
TEST(FindBadScale, AgreesWithWhatDecodingGives) {
  for (int f = 0; f < kNumFormats; ++f) {
    const FormatInfo& info = format_info(static_cast<Format>(f));
    if (!info.is_float_weight || info.block_elems == 1 || info.format == Format::mxfp4) continue;
    const auto block = static_cast<std::size_t>(info.block_bytes);
    int found = 0;
    for (std::size_t at = 0; at + 2 <= block; at += 2) {
      for (const int high : {0x7e, 0x7c, 0xfc, 0x3c}) {
        std::vector<std::byte> blocks(3 * block, std::byte{1});
        blocks[2 * block + at] = std::byte{0};
        blocks[2 * block + at + 1] = static_cast<std::byte>(high);
        std::vector<float> out(static_cast<std::size_t>(3 * info.block_elems));
        info.dequantize(blocks.data(), 3 * info.block_elems, out.data());
        bool finite = true;
        for (const float x : out) finite = finite && std::isfinite(x);
        EXPECT_EQ(find_bad_scale(info.format, blocks), finite ? -1 : 2) << info.name << " byte " << at;
        found += finite ? 0 : 1;
      }
    }
    EXPECT_GE(found, 3) << info.name;
  }
}

TEST(FindBadScale, PlainFormatsHaveNone) {
  const std::vector<std::byte> nan(64, std::byte{0xff});
  for (const Format f : {Format::f32, Format::f16, Format::bf16, Format::f8_e4m3, Format::i32})
    EXPECT_EQ(find_bad_scale(f, nan), -1);
}

}  // namespace
}  // namespace hearth
