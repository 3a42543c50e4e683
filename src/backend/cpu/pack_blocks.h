// pack_blocks.h — one stored block of a quantised row into and out of its lane of a panel.
//
// A block is first taken apart into Columns: its numbers as small integers and its scales, whatever the format. put()
// and get() then know the panel's layout only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "backend/cpu/kernels.h"
#include "quant/format.h"

namespace hearth {

// Up to 256 columns of one row.
struct Columns {
  std::uint8_t q[256];         // unsigned, as the kernels multiply them (q8: with 128 added)
  std::uint16_t d = 0, m = 0;  // f16 bits; m is dmin of the K formats
  float d32 = 0;               // q8_f32
  std::uint8_t scales[16];     // q4_k, q5_k: the twelve bytes; q6_k: sixteen signed scales
};

int layout_block_columns(Layout layout);        // 32 or 256
std::size_t layout_block_bytes(Layout layout);  // of 16 rows

// Takes apart `columns` columns (the layout's block) of a stored row, beginning at column `first`.
void split_block(Format format, const std::byte* row, std::int64_t first, Layout layout, Columns& out);
void put_block(Layout layout, const Columns& c, std::byte* block, int lane);
void get_block(Layout layout, const std::byte* block, int lane, float* out);  // the numbers, widened

}  // namespace hearth
