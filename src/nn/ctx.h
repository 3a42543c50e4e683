// ctx.h — the same verbs as Ops, returning tensors from the step's arena, so that a model reads as maths.
//
// Planning  with ops == nullptr nothing is computed; the arena counts. One forward on the largest step gives the exact
//           activation memory before anything is reserved.
#pragma once

#include <functional>
#include <string_view>

#include "compute/ops.h"
#include "tensor/arena.h"

namespace hearth {

class Ctx {
 public:
  Ctx(Ops* ops, Arena& arena, DType act = DType::f32) : ops_(ops), arena_(arena), act_(act) {}

  bool planning() const { return ops_ == nullptr; }
  Ops& ops() const { return *ops_; }
  Arena& arena() const { return arena_; }
  DType act_dtype() const { return act_; }
  Tensor make(std::initializer_list<std::int64_t> shape) const { return arena_.make(act_, shape); }
  Tensor make(DType dtype, std::initializer_list<std::int64_t> shape) const { return arena_.make(dtype, shape); }

  Tensor embed(Tensor ids, const Matrix& table) const;
  Tensor rms_norm(Tensor x, Tensor w, float eps) const;
  Tensor add_rms_norm(Tensor r, Tensor m, Tensor w, float eps) const;  // r ← r + m
  void add(Tensor x, Tensor y) const;
  Tensor linear(Tensor x, const Matrix& w, Tensor bias = {}) const;
  Tensor gather_rows(Tensor x, Tensor rows) const;

  // Called with a name and a tensor after each layer when set (goldens compare hidden states with it).
  std::function<void(std::string_view, Tensor)> probe;

 private:
  Ops* ops_;
  Arena& arena_;
  DType act_;
};

}  // namespace hearth
