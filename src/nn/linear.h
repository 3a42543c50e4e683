// linear.h — y = x · Wᵀ (+ bias) as a layer.
#pragma once

#include <string>

#include "nn/binder.h"
#include "nn/ctx.h"

namespace hearth {

struct Linear {
  Matrix weight;  // [out, in]
  Tensor bias;    // [out], or null data
};

inline Linear bind_linear(Binder& b, const std::string& name, std::int64_t out, std::int64_t in, bool bias = false) {
  Linear l{b.matrix(name + ".weight", out, in), {}};
  if (bias) l.bias = b.vector(name + ".bias", out);
  return l;
}

inline Tensor linear(const Ctx& c, const Linear& l, Tensor x) { return c.linear(x, l.weight, l.bias); }

}  // namespace hearth
