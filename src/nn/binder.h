// binder.h — hands a checkpoint's tensors to a model, and keeps the account: every parameter filled, every tensor used.
//
// Cost      a matrix is never held as stored: the backend reads it by rows into its final form. A vector is, for a moment.
// Errors    StartupError: missing tensor, wrong shape, wrong format, NaN among scales, tensors left over.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "checkpoint/weight_source.h"
#include "compute/ops.h"

namespace hearth {

class Binder {
 public:
  // progress is told of stored bytes as they are read, from any thread; in the end, of taken_bytes().
  Binder(WeightSource& source, Ops& ops, std::function<void(std::int64_t bytes)> progress = {});
  std::int64_t taken_bytes() const { return taken_bytes_; }  // of the tensors taken, as stored

  bool has(std::string_view name) const;
  // [rows, cols] in any float format; for f8_e4m3 also takes <name without .weight>.weight_scale_inv. One row may be
  // stored as a vector.
  Matrix matrix(const std::string& name, std::int64_t rows, std::int64_t cols);
  // Several matrices of one format stacked by rows.
  Matrix matrix(const std::vector<std::string>& names, const std::vector<std::int64_t>& rows, std::int64_t cols);
  // A small float tensor as f32 in device memory; numbers = its element count; plus is added to each number
  // (1 for zero-centred norms).
  Tensor vector(const std::string& name, std::int64_t numbers, float plus = 0.0f);
  // f32 numbers made by the model itself (inv_freq).
  Tensor constant(std::span<const float> values);
  // Known tensors that this program does not use yet (vision tower, MTP head) or computes itself (rotary tables).
  void ignore_prefix(std::string_view prefix);
  void ignore_suffix(std::string_view suffix);
  // Throws when a tensor of the checkpoint was neither taken nor ignored.
  void finish() const;
  // Keeps the vectors' memory alive; the model holds it.
  std::vector<std::shared_ptr<Buffer>> take_buffers() { return std::move(buffers_); }

 private:
  const SourceTensor& take(const std::string& name, std::span<const std::int64_t> shape);
  bool ignored(std::string_view name) const;

  WeightSource& source_;
  Ops& ops_;
  std::function<void(std::int64_t)> progress_;
  std::int64_t taken_bytes_ = 0;
  std::unordered_set<std::string> used_;
  std::vector<std::string> ignored_prefixes_, ignored_suffixes_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
};

}  // namespace hearth
