// cpu_ops.h — the CPU backend: packed weights, one thread pool, kernels for the instruction set at hand.
//
// Owns      its device's memory, the pool, scratch for quantised activations and attention.
// Threads   one caller at a time; it shares each operation among `threads` threads, itself among them.
// Numbers   activations f32. Matrices of f32, f16, bf16 and FP8: f32 products and sums. Integer formats: activations are
//           rounded once per linear to 8 bits per 32 numbers, sums within 32 are exact, sums of those f32.
// Order     as ops.h says, for any number of threads; results differ between instruction sets in the last bits.
// Errors    StartupError when a forced instruction set is not known or not here.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "compute/ops.h"

namespace hearth {

struct CpuOptions {
  int threads = 0;       // 0: one for each core this process may use
  std::string isa = {};  // "avx512", "avx2", "dotprod" (ARM64), "portable"; empty: the best of this machine
};

std::unique_ptr<Ops> make_cpu_ops(const CpuOptions& options);

// The instruction sets that this machine can run, best first.
std::vector<std::string_view> available_isas();

}  // namespace hearth
