// Kernels for AVX2 with FMA and F16C (room.cmake sets the flags).
#if defined(__x86_64__)
#include "backend/cpu/kernels/table.h"

namespace hearth {
const Kernels kKernelsAvx2 = HEARTH_KERNEL_TABLE("avx2");
}
#endif
