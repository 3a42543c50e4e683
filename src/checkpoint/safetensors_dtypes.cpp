// safetensors_dtypes.cpp — the dtype names of the format.
#include <array>
#include <utility>

#include "checkpoint/safetensors.h"

namespace hearth {
namespace {

constexpr std::array<std::pair<std::string_view, Format>, 15> kDtypes{{
    {"F32", Format::f32},
    {"F16", Format::f16},
    {"BF16", Format::bf16},
    {"F64", Format::f64},
    {"F8_E4M3", Format::f8_e4m3},
    {"F8_E5M2", Format::f8_e5m2},
    {"I8", Format::i8},
    {"U8", Format::u8},
    {"I16", Format::i16},
    {"U16", Format::u16},
    {"I32", Format::i32},
    {"U32", Format::u32},
    {"I64", Format::i64},
    {"U64", Format::u64},
    {"BOOL", Format::boolean},
}};

}  // namespace

std::string_view safetensors_dtype(Format format) {
  for (const auto& [name, f] : kDtypes) {
    if (f == format) return name;
  }
  return {};
}

bool safetensors_format(std::string_view dtype, Format& format) {
  for (const auto& [name, f] : kDtypes) {
    if (name == dtype) {
      format = f;
      return true;
    }
  }
  return false;
}

}  // namespace hearth
