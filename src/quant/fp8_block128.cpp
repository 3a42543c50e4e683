#include "quant/fp8_block128.h"

#include <algorithm>
#include <cmath>

#include "tensor/float16.h"

namespace hearth {

void dequantize_fp8_block128(const std::byte* q, const float* scales, std::int64_t rows, std::int64_t cols,
                             float* out) {
  const std::int64_t across = fp8_blocks(cols);
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t b = 0; b < across; ++b) {
      const float s = scales[r / kFp8Block * across + b];
      const std::int64_t end = std::min(cols, (b + 1) * kFp8Block);
      for (std::int64_t c = b * kFp8Block; c < end; ++c) {
        out[r * cols + c] = e4m3_to_f32(static_cast<std::uint8_t>(q[r * cols + c])) * s;
      }
    }
  }
}

void quantize_fp8_block128(const float* in, std::int64_t rows, std::int64_t cols, std::byte* q, float* scales) {
  const std::int64_t across = fp8_blocks(cols);
  for (std::int64_t br = 0; br < fp8_blocks(rows); ++br) {
    for (std::int64_t bc = 0; bc < across; ++bc) {
      const std::int64_t row_end = std::min(rows, (br + 1) * kFp8Block);
      const std::int64_t col_end = std::min(cols, (bc + 1) * kFp8Block);
      float top = 0;
      for (std::int64_t r = br * kFp8Block; r < row_end; ++r) {
        for (std::int64_t c = bc * kFp8Block; c < col_end; ++c) top = std::max(top, std::fabs(in[r * cols + c]));
      }
      const float s = top > 0 ? top / 448 : 1.0f;
      scales[br * across + bc] = s;
      for (std::int64_t r = br * kFp8Block; r < row_end; ++r) {
        for (std::int64_t c = bc * kFp8Block; c < col_end; ++c) {
          q[r * cols + c] = static_cast<std::byte>(f32_to_e4m3(in[r * cols + c] / s));
        }
      }
    }
  }
}

}  // namespace hearth
