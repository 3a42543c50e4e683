#include "tensor/arena.h"

namespace hearth {

Tensor Arena::make(DType dtype, std::initializer_list<std::int64_t> shape) {
  Tensor t(nullptr, dtype, shape);
  const std::size_t bytes = (static_cast<std::size_t>(t.size_bytes()) + 255) / 256 * 256;
  if (base_ != nullptr) {
    HEARTH_CHECK_LE(used_ + bytes, capacity_);
    t.data = base_ + used_;
  }
  used_ += bytes;
  peak_ = std::max(peak_, used_);
  return t;
}

}  // namespace hearth
