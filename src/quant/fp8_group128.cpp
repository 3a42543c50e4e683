#include "quant/fp8_group128.h"

#include <algorithm>
#include <cmath>

#include "quant/fp8_block128.h"
#include "tensor/float16.h"

namespace hearth {

void quantize_fp8_group128(const float* x, std::int64_t cols, std::byte* q, float* scales) {
  for (std::int64_t g = 0; g < fp8_blocks(cols); ++g) {
    const std::int64_t begin = g * kFp8Block, end = std::min(cols, begin + kFp8Block);
    float top = 1e-10f;
    for (std::int64_t i = begin; i < end; ++i) top = std::max(top, std::fabs(x[i]));
    scales[g] = top / 448;
    for (std::int64_t i = begin; i < end; ++i) q[i] = static_cast<std::byte>(f32_to_e4m3(x[i] / scales[g]));
  }
}

void dequantize_fp8_group128(const std::byte* q, const float* scales, std::int64_t cols, float* out) {
  for (std::int64_t i = 0; i < cols; ++i) out[i] = e4m3_to_f32(static_cast<std::uint8_t>(q[i])) * scales[i / kFp8Block];
}

}  // namespace hearth
