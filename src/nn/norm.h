// norm.h — RMSNorm as a layer: x · (mean(x²) + ε)^-½ · w. Zero-centred norms (1 + w) get their 1 when they are bound.
#pragma once

#include <string>

#include "nn/binder.h"
#include "nn/ctx.h"

namespace hearth {

struct Norm {
  Tensor weight;  // [n]
  float eps = 0;
};

inline Norm bind_norm(Binder& b, const std::string& name, std::int64_t n, float eps, bool zero_centred) {
  return {b.vector(name + ".weight", n, zero_centred ? 1.0f : 0.0f), eps};
}

inline Tensor rms_norm(const Ctx& c, const Norm& norm, Tensor x) { return c.rms_norm(x, norm.weight, norm.eps); }

}  // namespace hearth
