// blocks.h — the block layouts, byte for byte as GGUF files hold them (little-endian, no padding).
//
// d, m and dmin are f16 bits (f16_to_f32). "Nibbles": byte j holds element j in its low and element j + 16 in its high half,
// per 32 elements, unless said otherwise. K-formats pack 256 elements in sub-blocks of 32 or 16.
//
// Source    ggml block formats; the OCP Microscaling (MX) specification for MXFP4.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace hearth {

struct BlockQ4_0 {
  std::uint16_t d;
  std::uint8_t qs[16];
};  // y = d · (q − 8)
struct BlockQ4_1 {
  std::uint16_t d, m;
  std::uint8_t qs[16];
};  // y = d · q + m
struct BlockQ5_0 {
  std::uint16_t d;
  std::uint8_t qh[4];
  std::uint8_t qs[16];
};  // y = d · (q − 16), bit 4 of element j is bit j of qh
struct BlockQ5_1 {
  std::uint16_t d, m;
  std::uint8_t qh[4];
  std::uint8_t qs[16];
};  // y = d · q + m
struct BlockQ8_0 {
  std::uint16_t d;
  std::int8_t qs[32];
};  // y = d · q
struct BlockIq4Nl {
  std::uint16_t d;
  std::uint8_t qs[16];
};  // y = d · kIq4Values[q]
struct BlockMxfp4 {
  std::uint8_t e;
  std::uint8_t qs[16];
};  // y = 2^(e−128) · kMxfp4Doubled[q]

// y = d·sc·q − dmin·mn; 16 sub-blocks of 16, scales[s] = sc | mn << 4. Bits 2c, 2c+1 of qs[32h + l] are element 128h + 32c + l.
struct BlockQ2K {
  std::uint8_t scales[16];
  std::uint8_t qs[64];
  std::uint16_t d, dmin;
};
// y = d·(sc − 32)·(q − 4·(1 − high)); 16 sub-blocks of 16; low two bits as in Q2_K, bit 4h + c of hmask[l] is high of 128h + 32c + l.
struct BlockQ3K {
  std::uint8_t hmask[32];
  std::uint8_t qs[64];
  std::uint8_t scales[12];
  std::uint16_t d;
};
// y = d·sc·q − dmin·mn; 8 sub-blocks of 32; qs[32c + l] holds sub-block 2c (low half) and 2c + 1 (high half).
struct BlockQ4K {
  std::uint16_t d, dmin;
  std::uint8_t scales[12];
  std::uint8_t qs[128];
};
// As Q4_K; bit s of qh[l] is bit 4 of element l of sub-block s.
struct BlockQ5K {
  std::uint16_t d, dmin;
  std::uint8_t scales[12];
  std::uint8_t qh[32];
  std::uint8_t qs[128];
};
// y = d·sc[element / 16]·(q − 32); per half of 128 and l < 32, elements l, l+32, l+64, l+96 have their low four bits in
// ql[l] low, ql[l+32] low, ql[l] high, ql[l+32] high and their high two in bits 0–1, 2–3, 4–5, 6–7 of qh[l].
struct BlockQ6K {
  std::uint8_t ql[128];
  std::uint8_t qh[64];
  std::int8_t scales[16];
  std::uint16_t d;
};
// y = d·(sc − 32)·kIq4Values[q]; 8 sub-blocks of 32 with their own nibbles; sc = 4 bits of scales_l, 2 bits of scales_h.
struct BlockIq4Xs {
  std::uint16_t d;
  std::uint16_t scales_h;
  std::uint8_t scales_l[4];
  std::uint8_t qs[128];
};

static_assert(sizeof(BlockQ4_0) == 18 && sizeof(BlockQ4_1) == 20 && sizeof(BlockQ5_0) == 22 && sizeof(BlockQ5_1) == 24);
static_assert(sizeof(BlockQ8_0) == 34 && sizeof(BlockIq4Nl) == 18 && sizeof(BlockMxfp4) == 17);
static_assert(sizeof(BlockQ2K) == 84 && sizeof(BlockQ3K) == 110 && sizeof(BlockQ4K) == 144 && sizeof(BlockQ5K) == 176);
static_assert(sizeof(BlockQ6K) == 210 && sizeof(BlockIq4Xs) == 136);

inline constexpr std::int8_t kIq4Values[16] = {-127, -104, -83, -65, -49, -35, -22, -10,
                                               1,    13,   25,  38,  53,  69,  89,  113};
// E2M1 values times two, so that they are integers: 0, 0.5, 1, 1.5, 2, 3, 4, 6 and their negatives.
inline constexpr std::int8_t kMxfp4Doubled[16] = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};

struct ScaleMin {
  std::uint8_t scale, min;
};

// The 6-bit scale and minimum of sub-block s (0 … 7) of Q4_K and Q5_K from their 12 bytes.
inline ScaleMin k_scale_min(const std::uint8_t* b, int s) {
  if (s < 4) return {static_cast<std::uint8_t>(b[s] & 63), static_cast<std::uint8_t>(b[s + 4] & 63)};
  return {static_cast<std::uint8_t>((b[s + 4] & 15) | ((b[s - 4] >> 6) << 4)),
          static_cast<std::uint8_t>((b[s + 4] >> 4) | ((b[s] >> 6) << 4))};
}

// The reverse: twelve bytes from eight 6-bit scales and minima.
inline void pack_k_scale_min(const ScaleMin* in, std::uint8_t* b) {
  for (int s = 0; s < 4; ++s) {
    const ScaleMin lo = in[s];
    const ScaleMin hi = in[s + 4];
    b[s] = static_cast<std::uint8_t>(lo.scale | ((hi.scale >> 4) << 6));
    b[s + 4] = static_cast<std::uint8_t>(lo.min | ((hi.min >> 4) << 6));
    b[s + 8] = static_cast<std::uint8_t>((hi.scale & 15) | ((hi.min & 15) << 4));
  }
}

// Calls block(const Block&, float* out) for each block of n numbers. Blocks are copied out: files do not align them.
template <class Block, int kElems, class F>
void for_each_block(const std::byte* blocks, std::int64_t n, float* out, F block) {
  for (std::int64_t i = 0; i < n / kElems; ++i) {
    Block b;
    std::memcpy(&b, blocks + i * static_cast<std::int64_t>(sizeof(Block)), sizeof(Block));
    block(b, out + i * kElems);
  }
}

// Calls block(const float* in) → Block for each block of n numbers.
template <class Block, int kElems, class F>
void make_each_block(const float* in, std::int64_t n, std::byte* blocks, F block) {
  for (std::int64_t i = 0; i < n / kElems; ++i) {
    const Block b = block(in + i * kElems);
    std::memcpy(blocks + i * static_cast<std::int64_t>(sizeof(Block)), &b, sizeof(Block));
  }
}

// x cut to an integer of [0, high]; NaN is 0.
inline std::uint8_t to_quant(float x, int high) {
  return x >= 0 ? static_cast<std::uint8_t>(x < static_cast<float>(high) ? x : static_cast<float>(high))
                : std::uint8_t{0};
}

// x rounded and cut to [-127, 127]; NaN is 0.
inline std::int8_t to_signed_quant(float x) {
  return std::isnan(x) ? std::int8_t{0} : static_cast<std::int8_t>(std::clamp(std::round(x), -127.0f, 127.0f));
}

}  // namespace hearth
