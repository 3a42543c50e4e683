// matrix.h — a weight matrix, as the checkpoint stores it and as a backend holds it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>

#include "quant/format.h"

namespace hearth {

// As stored: row-major [rows = out_features, cols = in_features], y = x · Wᵀ. The rows lie at data, or come from read; both
// are good during the call only.
struct StoredMatrix {
  Format format = Format::f32;
  std::int64_t rows = 0;
  std::int64_t cols = 0;
  const std::byte* data = nullptr;
  // f8_e4m3 only: multipliers widened to f32, row-major [ceil(rows/128), ceil(cols/128)].
  const float* scales = nullptr;
  // Fills dst with whole rows from `begin` on. From any thread, several at once; may throw.
  std::function<void(std::int64_t begin, std::span<std::byte> dst)> read = {};
};

// A backend's own form of one matrix (its order, its scales). Cheap to copy: shares the storage.
struct Matrix {
  Format format = Format::f32;  // the format it computes from
  std::int64_t rows = 0;        // N
  std::int64_t cols = 0;        // K
  std::size_t bytes = 0;        // memory it takes
  std::shared_ptr<const void> impl;

  explicit operator bool() const { return impl != nullptr; }
};

}  // namespace hearth
