// Kernels for any processor: four lanes at a time, NEON on ARM64.
#include "backend/cpu/kernels/table.h"

namespace hearth {
const Kernels kKernelsPortable = HEARTH_KERNEL_TABLE("portable");
}
