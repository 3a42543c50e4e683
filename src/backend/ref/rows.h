// rows.h — small helpers of the reference loops: rows of strided views, numbers of a cache in any dtype, the usual functions.
#pragma once

#include <cmath>
#include <cstdint>

#include "base/check.h"
#include "tensor/float16.h"
#include "tensor/tensor.h"

namespace hearth {

// Row i of a view whose outer axes are counted through as one, the last of them fastest.
template <class T>
T* outer_row(const Tensor& t, std::int64_t i) {
  std::int64_t offset = 0;
  for (int axis = t.rank - 1; axis-- > 0;) {
    offset += i % t.dim(axis) * t.stride[static_cast<std::size_t>(axis)];
    i /= t.dim(axis);
  }
  return t.ptr<T>() + offset;
}

inline float load_number(const Tensor& t, std::int64_t i) {
  switch (t.dtype) {
    case DType::f32:
      return t.ptr<float>()[i];
    case DType::f16:
      return f16_to_f32(t.ptr<std::uint16_t>()[i]);
    case DType::bf16:
      return bf16_to_f32(t.ptr<std::uint16_t>()[i]);
    default:
      HEARTH_CHECK(false && "a cache is f32, f16 or bf16");
      return 0;
  }
}

inline void store_number(const Tensor& t, std::int64_t i, float value) {
  switch (t.dtype) {
    case DType::f32:
      t.ptr<float>()[i] = value;
      break;
    case DType::f16:
      t.ptr<std::uint16_t>()[i] = f32_to_f16(value);
      break;
    case DType::bf16:
      t.ptr<std::uint16_t>()[i] = f32_to_bf16(value);
      break;
    default:
      HEARTH_CHECK(false && "a cache is f32, f16 or bf16");
  }
}

inline double sigmoid(double x) { return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x)); }
inline double silu(double x) { return x * sigmoid(x); }
inline double softplus(double x) { return x > 20 ? x : std::log1p(std::exp(x)); }

}  // namespace hearth
