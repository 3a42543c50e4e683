// codecs.h — what each format's file defines; format_info (formats.cpp) puts them in its table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hearth::codec {

#define HEARTH_DECODE(name) void dequantize_##name(const std::byte* blocks, std::int64_t n, float* out)
#define HEARTH_ENCODE(name) void quantize_##name(const float* in, std::int64_t n, std::byte* blocks)

HEARTH_DECODE(f32);
HEARTH_ENCODE(f32);
HEARTH_DECODE(f64);
HEARTH_ENCODE(f64);
HEARTH_DECODE(f16);
HEARTH_ENCODE(f16);
HEARTH_DECODE(bf16);
HEARTH_ENCODE(bf16);
HEARTH_DECODE(f8_e4m3);
HEARTH_ENCODE(f8_e4m3);
HEARTH_DECODE(f8_e5m2);
HEARTH_DECODE(q4_0);
HEARTH_ENCODE(q4_0);
HEARTH_DECODE(q4_1);
HEARTH_ENCODE(q4_1);
HEARTH_DECODE(q5_0);
HEARTH_ENCODE(q5_0);
HEARTH_DECODE(q5_1);
HEARTH_ENCODE(q5_1);
HEARTH_DECODE(q8_0);
HEARTH_ENCODE(q8_0);
HEARTH_DECODE(q2_k);
HEARTH_DECODE(q3_k);
HEARTH_DECODE(q4_k);
HEARTH_ENCODE(q4_k);
HEARTH_DECODE(q5_k);
HEARTH_ENCODE(q5_k);
HEARTH_DECODE(q6_k);
HEARTH_ENCODE(q6_k);
HEARTH_DECODE(iq4_nl);
HEARTH_DECODE(iq4_xs);
HEARTH_DECODE(mxfp4);
HEARTH_ENCODE(mxfp4);

}  // namespace hearth::codec
