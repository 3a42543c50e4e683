// Kernels for AVX-512 F, BW, DQ and VL with VNNI (room.cmake sets the flags).
#if defined(__x86_64__)
#include "backend/cpu/kernels/table.h"

namespace hearth {
const Kernels kKernelsAvx512 = HEARTH_KERNEL_TABLE("avx512");
}
#endif
