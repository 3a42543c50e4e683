// formats.cpp — the table of formats. A format is a file with its two functions, a row here and its enumerator.
#include <array>

#include "base/check.h"
#include "quant/codecs.h"
#include "quant/format.h"

namespace hearth {
namespace {

using namespace codec;
using F = Format;

// In the order of the enumeration.
constexpr std::array<FormatInfo, kNumFormats> kTable{{
    {F::f32, "f32", 1, 4, true, dequantize_f32, quantize_f32},
    {F::f16, "f16", 1, 2, true, dequantize_f16, quantize_f16},
    {F::bf16, "bf16", 1, 2, true, dequantize_bf16, quantize_bf16},
    {F::f64, "f64", 1, 8, true, dequantize_f64, quantize_f64},
    {F::f8_e4m3, "f8_e4m3", 1, 1, true, dequantize_f8_e4m3, quantize_f8_e4m3},
    {F::f8_e5m2, "f8_e5m2", 1, 1, true, dequantize_f8_e5m2, nullptr},
    {F::i8, "i8", 1, 1, false, nullptr, nullptr},
    {F::u8, "u8", 1, 1, false, nullptr, nullptr},
    {F::i16, "i16", 1, 2, false, nullptr, nullptr},
    {F::u16, "u16", 1, 2, false, nullptr, nullptr},
    {F::i32, "i32", 1, 4, false, nullptr, nullptr},
    {F::u32, "u32", 1, 4, false, nullptr, nullptr},
    {F::i64, "i64", 1, 8, false, nullptr, nullptr},
    {F::u64, "u64", 1, 8, false, nullptr, nullptr},
    {F::boolean, "bool", 1, 1, false, nullptr, nullptr},
    {F::q4_0, "q4_0", 32, 18, true, dequantize_q4_0, quantize_q4_0},
    {F::q4_1, "q4_1", 32, 20, true, dequantize_q4_1, quantize_q4_1},
    {F::q5_0, "q5_0", 32, 22, true, dequantize_q5_0, quantize_q5_0},
    {F::q5_1, "q5_1", 32, 24, true, dequantize_q5_1, quantize_q5_1},
    {F::q8_0, "q8_0", 32, 34, true, dequantize_q8_0, quantize_q8_0},
    {F::q2_k, "q2_k", 256, 84, true, dequantize_q2_k, nullptr},
    {F::q3_k, "q3_k", 256, 110, true, dequantize_q3_k, nullptr},
    {F::q4_k, "q4_k", 256, 144, true, dequantize_q4_k, quantize_q4_k},
    {F::q5_k, "q5_k", 256, 176, true, dequantize_q5_k, quantize_q5_k},
    {F::q6_k, "q6_k", 256, 210, true, dequantize_q6_k, quantize_q6_k},
    {F::iq4_nl, "iq4_nl", 32, 18, true, dequantize_iq4_nl, nullptr},
    {F::iq4_xs, "iq4_xs", 256, 136, true, dequantize_iq4_xs, nullptr},
    {F::mxfp4, "mxfp4", 32, 17, true, dequantize_mxfp4, quantize_mxfp4},
}};

constexpr bool in_order() {
  for (std::size_t i = 0; i < kTable.size(); ++i) {
    if (static_cast<std::size_t>(kTable[i].format) != i) return false;
  }
  return true;
}
static_assert(in_order());

}  // namespace

const FormatInfo& format_info(Format format) {
  const auto i = static_cast<std::size_t>(format);
  HEARTH_CHECK_LT(i, kTable.size());
  return kTable[i];
}

}  // namespace hearth
