// arena.h — bump memory for one step: the same calls give the same addresses each step.
//
// Owns      nothing: the memory is the device's. With no memory behind it (planning) it only counts.
// Limits    alignment 256 bytes; running out is a bug, since the size was planned (HEARTH_CHECK).
#pragma once

#include <algorithm>
#include <cstddef>
#include <initializer_list>

#include "tensor/tensor.h"

namespace hearth {

class Arena {
 public:
  Arena() = default;  // planning: counts, hands out null
  Arena(void* base, std::size_t capacity) : base_(static_cast<char*>(base)), capacity_(capacity) {}

  Tensor make(DType dtype, std::initializer_list<std::int64_t> shape);
  template <class T>
  T* take(std::int64_t count) {
    return static_cast<T*>(take_bytes(static_cast<std::size_t>(count) * sizeof(T)));
  }
  void reset() { used_ = 0; }
  std::size_t mark() const { return used_; }  // release(mark()) frees what came after
  void release(std::size_t mark) { used_ = mark; }
  std::size_t peak_bytes() const { return peak_; }
  bool planning() const { return base_ == nullptr; }

 private:
  void* take_bytes(std::size_t size);

  char* base_ = nullptr;
  std::size_t capacity_ = 0;
  std::size_t used_ = 0;
  std::size_t peak_ = 0;
};

}  // namespace hearth
