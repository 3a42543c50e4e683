#include "tensor/tensor.h"

#include <fmt/format.h>

namespace hearth {

int dtype_bytes(DType dtype) {
  switch (dtype) {
    case DType::f32:
    case DType::i32:
      return 4;
    case DType::f16:
    case DType::bf16:
      return 2;
    case DType::i64:
      return 8;
    case DType::f8_e4m3:
    case DType::u8:
      return 1;
  }
  return 0;
}

const char* dtype_name(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return "f32";
    case DType::f16:
      return "f16";
    case DType::bf16:
      return "bf16";
    case DType::f8_e4m3:
      return "f8_e4m3";
    case DType::i32:
      return "i32";
    case DType::i64:
      return "i64";
    case DType::u8:
      return "u8";
  }
  return "?";
}

Tensor::Tensor(void* p, DType d, std::initializer_list<std::int64_t> s) : data(p), dtype(d) {
  HEARTH_CHECK_LE(s.size(), shape.size());
  for (std::int64_t n : s) shape[static_cast<std::size_t>(rank++)] = n;
  std::int64_t step = 1;
  for (int i = rank; i-- > 0;) {
    stride[static_cast<std::size_t>(i)] = step;
    step *= shape[static_cast<std::size_t>(i)];
  }
}

std::int64_t Tensor::size() const {
  if (rank == 0) return 0;
  std::int64_t n = 1;
  for (int i = 0; i < rank; ++i) n *= dim(i);
  return n;
}

bool Tensor::contiguous() const {
  std::int64_t step = 1;
  for (int i = rank; i-- > 0;) {
    if (dim(i) != 1 && stride[static_cast<std::size_t>(i)] != step) return false;
    step *= dim(i);
  }
  return true;
}

Tensor Tensor::view(std::initializer_list<std::int64_t> new_shape) const {
  HEARTH_CHECK(contiguous());
  Tensor t(data, dtype, new_shape);
  HEARTH_CHECK_EQ(t.size(), size());
  return t;
}

Tensor Tensor::slice(int axis, std::int64_t begin, std::int64_t end) const {
  HEARTH_CHECK(axis < rank && 0 <= begin && begin <= end && end <= dim(axis));
  Tensor t = *this;
  const auto a = static_cast<std::size_t>(axis);
  if (data != nullptr) t.data = static_cast<char*>(data) + begin * stride[a] * dtype_bytes(dtype);
  t.shape[a] = end - begin;
  return t;
}

Tensor Tensor::select(int axis, std::int64_t index) const {
  HEARTH_CHECK(axis < rank - 1);
  Tensor t = slice(axis, index, index + 1);
  for (int i = axis; i + 1 < rank; ++i) {
    t.shape[static_cast<std::size_t>(i)] = shape[static_cast<std::size_t>(i + 1)];
    t.stride[static_cast<std::size_t>(i)] = stride[static_cast<std::size_t>(i + 1)];
  }
  --t.rank;
  return t;
}

Tensor Tensor::heads(std::int64_t n) const {
  HEARTH_CHECK(0 < rank && rank < 4 && n > 0 && dim(-1) % n == 0);
  Tensor t = *this;
  const auto last = static_cast<std::size_t>(rank - 1);
  t.shape[last] = n;
  t.shape[last + 1] = shape[last] / n;
  t.stride[last] = t.shape[last + 1];
  t.stride[last + 1] = 1;
  ++t.rank;
  return t;
}

std::string Tensor::describe() const {
  std::string s = dtype_name(dtype);
  s += " [";
  for (int i = 0; i < rank; ++i) s += (i ? ", " : "") + std::to_string(dim(i));
  return s + "]";
}

}  // namespace hearth
