// gguf_types.cpp — numbers of the tensor types.
#include <fmt/format.h>

#include <array>

#include "checkpoint/gguf.h"

namespace hearth {
namespace {

struct Row {
  std::uint32_t id;
  std::string_view name;
  std::optional<Format> format;  // empty: known by name only
};

constexpr std::array<Row, 33> kTypes{{
    {0, "F32", Format::f32},
    {1, "F16", Format::f16},
    {2, "Q4_0", Format::q4_0},
    {3, "Q4_1", Format::q4_1},
    {6, "Q5_0", Format::q5_0},
    {7, "Q5_1", Format::q5_1},
    {8, "Q8_0", Format::q8_0},
    {9, "Q8_1", {}},
    {10, "Q2_K", Format::q2_k},
    {11, "Q3_K", Format::q3_k},
    {12, "Q4_K", Format::q4_k},
    {13, "Q5_K", Format::q5_k},
    {14, "Q6_K", Format::q6_k},
    {15, "Q8_K", {}},
    {16, "IQ2_XXS", {}},
    {17, "IQ2_XS", {}},
    {18, "IQ3_XXS", {}},
    {19, "IQ1_S", {}},
    {20, "IQ4_NL", Format::iq4_nl},
    {21, "IQ3_S", {}},
    {22, "IQ2_S", {}},
    {23, "IQ4_XS", Format::iq4_xs},
    {24, "I8", Format::i8},
    {25, "I16", Format::i16},
    {26, "I32", Format::i32},
    {27, "I64", Format::i64},
    {28, "F64", Format::f64},
    {29, "IQ1_M", {}},
    {30, "BF16", Format::bf16},
    {34, "TQ1_0", {}},
    {35, "TQ2_0", {}},
    {39, "MXFP4", Format::mxfp4},
    {40, "NVFP4", {}},
}};

}  // namespace

std::optional<std::uint32_t> gguf_type_id(Format format) {
  for (const Row& r : kTypes) {
    if (r.format == format) return r.id;
  }
  return {};
}

std::optional<Format> gguf_format(std::uint32_t type_id) {
  for (const Row& r : kTypes) {
    if (r.id == type_id) return r.format;
  }
  return {};
}

std::string gguf_type_name(std::uint32_t type_id) {
  for (const Row& r : kTypes) {
    if (r.id == type_id) return std::string(r.name);
  }
  return fmt::format("type {}", type_id);
}

}  // namespace hearth
