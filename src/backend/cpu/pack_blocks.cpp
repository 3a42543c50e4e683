#include "backend/cpu/pack_blocks.h"

#include <cmath>
#include <cstring>

#include "base/check.h"
#include "quant/blocks.h"
#include "tensor/float16.h"

namespace hearth {
namespace {

// How a quantised layout's block is laid out: kernels/quant_gemm.h.
struct Shape {
  int subs;  // sub-blocks of 32 columns
  int head_bytes;
  int sub_bytes;
  int high_bits;  // beside the nibbles; 4: whole bytes
};
Shape shape(Layout layout) {
  switch (layout) {
    case Layout::q8_0:
      return {1, 32, 512, 4};
    case Layout::q8_f32:
      return {1, 64, 512, 4};
    case Layout::q4_0:
      return {1, 32, 256, 0};
    case Layout::q4_1:
      return {1, 64, 256, 0};
    case Layout::q5_0:
      return {1, 32, 320, 1};
    case Layout::q5_1:
      return {1, 64, 320, 1};
    case Layout::q4_k:
      return {8, 256, 256, 0};
    case Layout::q5_k:
      return {8, 256, 320, 1};
    case Layout::q6_k:
      return {8, 288, 384, 2};
    default:
      HEARTH_CHECK(false && "a layout without blocks");
      return {};
  }
}

template <class T>
T block_at(const std::byte* row, std::int64_t index) {
  T b;
  std::memcpy(&b, row + index * static_cast<std::int64_t>(sizeof(T)), sizeof(T));
  return b;
}

void split_nibbles(const std::uint8_t* qs, std::uint8_t* q) {
  for (int j = 0; j < 16; ++j) {
    q[j] = qs[j] & 15;
    q[j + 16] = qs[j] >> 4;
  }
}

void add_high_bits(const std::uint8_t* qh, std::uint8_t* q) {
  for (int j = 0; j < 32; ++j) q[j] = static_cast<std::uint8_t>(q[j] | (qh[j / 8] >> (j % 8) & 1) << 4);
}

template <class T>
void split_k(const T& b, Columns& out) {
  out.d = b.d;
  out.m = b.dmin;
  std::memcpy(out.scales, b.scales, 12);
  for (int s = 0; s < 8; ++s)
    for (int l = 0; l < 32; ++l) {
      int q = b.qs[32 * (s / 2) + l] >> (4 * (s % 2)) & 15;
      if constexpr (requires { b.qh; }) q |= (b.qh[l] >> s & 1) << 4;
      out.q[32 * s + l] = static_cast<std::uint8_t>(q);
    }
}

void signed_bytes(const std::int8_t* values, const std::uint8_t* qs, std::uint8_t* q) {  // table values with 128 added
  for (int j = 0; j < 16; ++j) {
    q[j] = static_cast<std::uint8_t>(values[qs[j] & 15] + 128);
    q[j + 16] = static_cast<std::uint8_t>(values[qs[j] >> 4] + 128);
  }
}

std::uint16_t load_u16(const std::byte* p) {
  std::uint16_t v;
  std::memcpy(&v, p, 2);
  return v;
}
void store_u16(std::byte* p, std::uint16_t v) { std::memcpy(p, &v, 2); }

bool has_min(Layout l) { return l == Layout::q4_1 || l == Layout::q5_1 || l == Layout::q4_k || l == Layout::q5_k; }

}  // namespace

int layout_block_columns(Layout layout) { return 32 * shape(layout).subs; }
std::size_t layout_block_bytes(Layout layout) {
  const Shape s = shape(layout);
  return static_cast<std::size_t>(s.head_bytes + s.subs * s.sub_bytes);
}

void split_block(Format format, const std::byte* row, std::int64_t first, Layout layout, Columns& out) {
  const std::int64_t b32 = first / 32, b256 = first / 256;
  switch (format) {
    case Format::q8_0: {
      const auto b = block_at<BlockQ8_0>(row, b32);
      out.d = b.d;
      for (int j = 0; j < 32; ++j) out.q[j] = static_cast<std::uint8_t>(b.qs[j] + 128);
      return;
    }
    case Format::q4_0: {
      const auto b = block_at<BlockQ4_0>(row, b32);
      out.d = b.d;
      return split_nibbles(b.qs, out.q);
    }
    case Format::q4_1: {
      const auto b = block_at<BlockQ4_1>(row, b32);
      out.d = b.d;
      out.m = b.m;
      return split_nibbles(b.qs, out.q);
    }
    case Format::q5_0: {
      const auto b = block_at<BlockQ5_0>(row, b32);
      out.d = b.d;
      split_nibbles(b.qs, out.q);
      return add_high_bits(b.qh, out.q);
    }
    case Format::q5_1: {
      const auto b = block_at<BlockQ5_1>(row, b32);
      out.d = b.d;
      out.m = b.m;
      split_nibbles(b.qs, out.q);
      return add_high_bits(b.qh, out.q);
    }
    case Format::q4_k:
      return split_k(block_at<BlockQ4K>(row, b256), out);
    case Format::q5_k:
      return split_k(block_at<BlockQ5K>(row, b256), out);
    case Format::q6_k: {
      const auto b = block_at<BlockQ6K>(row, b256);
      out.d = b.d;
      std::memcpy(out.scales, b.scales, 16);
      for (int i = 0; i < 256; ++i) {
        const int half = i / 128, c = i % 128 / 32, l = i % 32;
        const int low = b.ql[64 * half + 32 * (c % 2) + l] >> (4 * (c / 2)) & 15;
        out.q[i] = static_cast<std::uint8_t>(low | (b.qh[32 * half + l] >> (2 * c) & 3) << 4);
      }
      return;
    }
    case Format::q3_k: {  // as q6_k: the same kind of scales, numbers −4 … 3 within −32 … 31
      const auto b = block_at<BlockQ3K>(row, b256);
      out.d = b.d;
      for (int s = 0; s < 16; ++s) {
        const int low = b.scales[s % 8] >> (s < 8 ? 0 : 4) & 15, high = b.scales[8 + s % 4] >> (2 * (s / 4)) & 3;
        out.scales[s] = static_cast<std::uint8_t>((low | high << 4) - 32);
      }
      for (int i = 0; i < 256; ++i) {
        const int half = i / 128, c = i % 128 / 32, l = i % 32;
        const int low = b.qs[32 * half + l] >> (2 * c) & 3, high = b.hmask[l] >> (4 * half + c) & 1;
        out.q[i] = static_cast<std::uint8_t>(low - (high ? 0 : 4) + 32);
      }
      return;
    }
    case Format::iq4_nl: {
      const auto b = block_at<BlockIq4Nl>(row, b32);
      out.d = b.d;
      return signed_bytes(kIq4Values, b.qs, out.q);
    }
    case Format::iq4_xs: {
      const auto b = block_at<BlockIq4Xs>(row, b256);
      const auto s = static_cast<int>(first % 256 / 32);
      const int low = b.scales_l[s / 2] >> (4 * (s % 2)) & 15, high = b.scales_h >> (2 * s) & 3;
      out.d32 = f16_to_f32(b.d) * static_cast<float>((low | high << 4) - 32);
      return signed_bytes(kIq4Values, b.qs + 16 * s, out.q);
    }
    case Format::mxfp4: {
      const auto b = block_at<BlockMxfp4>(row, b32);
      out.d32 = std::ldexp(1.0f, static_cast<int>(b.e) - 128);
      return signed_bytes(kMxfp4Doubled, b.qs, out.q);
    }
    default:
      HEARTH_CHECK(false && "not a block format");
      (void)layout;
  }
}

void put_block(Layout layout, const Columns& c, std::byte* block, int lane) {
  const Shape s = shape(layout);
  if (layout == Layout::q8_f32) {
    std::memcpy(block + 4 * lane, &c.d32, 4);
  } else {
    store_u16(block + 2 * lane, c.d);
    if (has_min(layout)) store_u16(block + 32 + 2 * lane, c.m);
  }
  if (layout == Layout::q4_k || layout == Layout::q5_k)
    for (int w = 0; w < 3; ++w) std::memcpy(block + 64 + 64 * w + 4 * lane, c.scales + 4 * w, 4);
  if (layout == Layout::q6_k)
    for (int i = 0; i < 16; ++i) block[32 + 16 * i + lane] = static_cast<std::byte>(c.scales[i]);
  for (int i = 0; i < s.subs; ++i) {
    std::byte* sub = block + s.head_bytes + i * s.sub_bytes;
    const std::uint8_t* q = c.q + 32 * i;
    if (s.high_bits == 4) {
      for (int k = 0; k < 32; ++k) sub[64 * (k / 4) + 4 * lane + k % 4] = static_cast<std::byte>(q[k]);
      continue;
    }
    std::byte* nib = sub + 64 * s.high_bits;
    for (int k = 0; k < 16; ++k)
      nib[64 * (k / 4) + 4 * lane + k % 4] = static_cast<std::byte>((q[k] & 15) | (q[k + 16] & 15) << 4);
    for (int b = 0; b < 4; ++b) {
      if (s.high_bits == 1) {
        int bits = 0;
        for (int j = 0; j < 8; ++j) bits |= (q[4 * j + b] >> 4 & 1) << j;
        sub[4 * lane + b] = static_cast<std::byte>(bits);
      } else if (s.high_bits == 2) {
        for (int w = 0; w < 2; ++w) {
          int bits = 0;
          for (int j = 0; j < 4; ++j) bits |= (q[16 * w + 4 * j + b] >> 4 & 3) << (2 * j);
          sub[64 * w + 4 * lane + b] = static_cast<std::byte>(bits);
        }
      }
    }
  }
}

void get_block(Layout layout, const std::byte* block, int lane, float* out) {
  const Shape s = shape(layout);
  float d = 0, m = 0;
  if (layout == Layout::q8_f32) {
    std::memcpy(&d, block + 4 * lane, 4);
  } else {
    d = f16_to_f32(load_u16(block + 2 * lane));
    if (has_min(layout)) m = f16_to_f32(load_u16(block + 32 + 2 * lane));
  }
  const bool with_mins = layout == Layout::q4_k || layout == Layout::q5_k;
  std::uint8_t scales[12];
  if (with_mins)
    for (int w = 0; w < 3; ++w) std::memcpy(scales + 4 * w, block + 64 + 64 * w + 4 * lane, 4);
  for (int i = 0; i < s.subs; ++i) {
    const std::byte* sub = block + s.head_bytes + i * s.sub_bytes;
    const std::byte* nib = sub + 64 * s.high_bits;
    const ScaleMin k = with_mins ? k_scale_min(scales, i) : ScaleMin{};
    for (int c = 0; c < 32; ++c) {
      const int j = c / 4, b = c % 4;
      int q = 0;
      if (s.high_bits == 4) {
        q = static_cast<int>(sub[64 * j + 4 * lane + b]) - 128;
      } else {
        q = static_cast<int>(nib[64 * (j % 4) + 4 * lane + b]) >> (4 * (j / 4)) & 15;
        if (s.high_bits == 1) q |= (static_cast<int>(sub[4 * lane + b]) >> j & 1) << 4;
        if (s.high_bits == 2) q |= (static_cast<int>(sub[64 * (j / 4) + 4 * lane + b]) >> (2 * (j % 4)) & 3) << 4;
      }
      float& y = out[32 * i + c];
      switch (layout) {
        case Layout::q4_0:
          y = d * static_cast<float>(q - 8);
          break;
        case Layout::q5_0:
          y = d * static_cast<float>(q - 16);
          break;
        case Layout::q4_1:
        case Layout::q5_1:
          y = d * static_cast<float>(q) + m;
          break;
        case Layout::q4_k:
        case Layout::q5_k:
          y = d * static_cast<float>(k.scale) * static_cast<float>(q) - m * static_cast<float>(k.min);
          break;
        case Layout::q6_k: {
          const auto sc = static_cast<std::int8_t>(block[32 + 16 * (2 * i + c / 16) + lane]);
          y = d * static_cast<float>(sc) * static_cast<float>(q - 32);
          break;
        }
        default:
          y = d * static_cast<float>(q);
      }
    }
  }
}

}  // namespace hearth
