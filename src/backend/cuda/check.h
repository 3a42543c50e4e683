// check.h — every call of the CUDA runtime goes through HEARTH_CUDA: a failure names the call and the runtime's own words.
#pragma once

#include <cuda_runtime_api.h>

namespace hearth {

[[noreturn]] void cuda_failed(cudaError_t error, const char* call);

#define HEARTH_CUDA(call)                                                \
  do {                                                                   \
    const cudaError_t hearth_error_ = (call);                            \
    if (hearth_error_ != cudaSuccess) cuda_failed(hearth_error_, #call); \
  } while (false)

}  // namespace hearth
