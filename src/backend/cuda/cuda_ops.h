// cuda_ops.h — the CUDA backend.
//
// Weights   f8_e4m3 and bf16 as stored, in the order of the tensor cores' fragments; any other format is widened to f32 when
//           it is loaded, and reserve() says so in the log.
// Numbers   activations f32 between operations. Before a product with f8_e4m3 weights they are rounded to FP8 (fp8_128), with
//           bf16 weights to bf16; sums in f32.
// Memory    everything is taken by load_matrix, alloc and reserve; a step allocates nothing.
// Errors    StartupError without a usable GPU, and from reserve() for a model beyond what the kernels take; std::runtime_error with
//           the call's name when an operation fails on the device (it is lost then).
// Threads   one caller at a time; kernels run in order on one stream.
#pragma once

#include <memory>
#include <string>

#include "compute/ops.h"

namespace hearth {

struct CudaOptions {
  int device = 0;
};

// Empty when a GPU is here that the kernels were compiled for, else what was found and what to do.
std::string cuda_unavailable();

// Bytes a second of a kernel that only reads, over 4 GiB.
double cuda_read_bandwidth();

std::unique_ptr<Ops> make_cuda_ops(const CudaOptions& options);

}  // namespace hearth
