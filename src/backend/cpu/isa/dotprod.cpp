// Kernels for ARM64 with the dot-product instructions (room.cmake sets the flags).
#if defined(__aarch64__)
#include "backend/cpu/kernels/table.h"

namespace hearth {
const Kernels kKernelsDotprod = HEARTH_KERNEL_TABLE("dotprod");
}
#endif
