#include "tensor/arena.h"

namespace hearth {

Tensor Arena::make(DType dtype, std::initializer_list<std::int64_t> shape) {
  Tensor t(nullptr, dtype, shape);
  t.data = take_bytes(static_cast<std::size_t>(t.size_bytes()));
  return t;
}

void* Arena::take_bytes(std::size_t size) {
  const std::size_t bytes = (size + 255) / 256 * 256;
  char* at = nullptr;
  if (base_ != nullptr) {
    HEARTH_CHECK_LE(used_ + bytes, capacity_);
    at = base_ + used_;
  }
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return at;
}

}  // namespace hearth
