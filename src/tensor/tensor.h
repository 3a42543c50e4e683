// tensor.h — a view of numbers in a device's memory: pointer, dtype, shape, strides. It owns nothing.
//
// Limits    at most 4 dimensions; the last dimension is contiguous (stride 1); outer strides are in elements and free, so
//           that a head's half or a column range is a view. Ops that need contiguous rows say so.
#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "base/check.h"

namespace hearth {

enum class DType : std::uint8_t { f32, f16, bf16, f8_e4m3, i32, i64, u8 };

int dtype_bytes(DType dtype);
const char* dtype_name(DType dtype);

struct Tensor {
  void* data = nullptr;
  DType dtype = DType::f32;
  int rank = 0;
  std::array<std::int64_t, 4> shape{};
  std::array<std::int64_t, 4> stride{};

  Tensor() = default;
  Tensor(void* data, DType dtype, std::initializer_list<std::int64_t> shape);  // contiguous

  std::int64_t size() const;  // elements
  std::int64_t size_bytes() const { return size() * dtype_bytes(dtype); }
  bool contiguous() const;
  std::int64_t dim(int i) const { return shape[static_cast<std::size_t>(i < 0 ? rank + i : i)]; }
  std::int64_t rows() const { return rank == 0 ? 0 : size() / dim(-1); }  // product of all but the last

  template <class T>
  T* ptr() const {
    return static_cast<T*>(data);
  }
  // Element pointer of a 2-D row or of [i, j] of a 3-D view.
  template <class T>
  T* row(std::int64_t i) const {
    return ptr<T>() + i * stride[0];
  }
  template <class T>
  T* row(std::int64_t i, std::int64_t j) const {
    return ptr<T>() + i * stride[0] + j * stride[1];
  }

  Tensor view(std::initializer_list<std::int64_t> new_shape) const;    // contiguous only; same size
  Tensor slice(int axis, std::int64_t begin, std::int64_t end) const;  // [begin, end) of one axis
  Tensor select(int axis, std::int64_t index) const;                   // drops the axis; not the last
  Tensor heads(std::int64_t n) const;  // last axis n·d becomes [n, d]; outer strides stay
  std::string describe() const;        // "f32 [5, 128]"
};

}  // namespace hearth
