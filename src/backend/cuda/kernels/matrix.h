// matrix.h — a weight matrix in device memory, and a row of activations, in the order in which tensor cores take them.
//
// Tile      16 rows × 32 bytes of each (32 FP8 numbers or 16 BF16): 512 bytes, 16 of each lane of a warp. With g = lane / 4 and
//           i = lane % 4 a lane holds four words: row g word i, row g + 8 word i, row g word i + 4, row g + 8 word i + 4.
//           That is operand A of mma.m16n8k32 (FP8) and of mma.m16n8k16 (BF16).
// Matrix    tiles [⌈N / 16⌉][k_tiles], k fastest; k_tiles is a multiple of 4, what is beyond N and K is zero.
// Row       K padded likewise; of each 64 bytes, 16 for each i: words i, i + 4 of the first half and of the second.
#pragma once

#include <cstdint>

namespace hearth::cuda {

enum class Kind : std::uint8_t { fp8, bf16, f32 };  // f32: rows as they are, no tiles

inline constexpr int kTileRows = 16, kTileBytes = 512, kRowBytes = 32;  // kRowBytes: of one row in a tile

inline int numbers_per_tile(Kind kind) { return kind == Kind::fp8 ? 32 : 16; }
inline std::int64_t tiles_down(std::int64_t rows) { return (rows + kTileRows - 1) / kTileRows; }
inline std::int64_t tiles_across(Kind kind, std::int64_t cols) {
  const std::int64_t block = 4 * numbers_per_tile(kind);
  return (cols + block - 1) / block * 4;
}

// Rows of activations in both forms, written by the operation that makes them; null where there is none.
struct PackedRows {
  std::uint8_t *fp8 = nullptr, *bf16 = nullptr;
  float* scales = nullptr;                     // [rows][fp8_tiles / 4]
  std::int64_t fp8_tiles = 0, bf16_tiles = 0;  // k_tiles of a row
};

// What a kernel needs of a matrix.
struct MatrixView {
  const std::uint8_t* data = nullptr;       // tiles, or f32 rows
  const float* scales = nullptr;            // fp8: [grid rows][k_tiles / 4]
  const std::int32_t* scale_row = nullptr;  // fp8: [N], which row of the grid; null: row / 128
  std::int64_t rows = 0, cols = 0;
  std::int32_t k_tiles = 0;
  Kind kind = Kind::f32;
};

}  // namespace hearth::cuda
