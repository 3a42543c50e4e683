// isa.h — which kernels this machine can run.
#pragma once

#include <string_view>

#include "backend/cpu/kernels.h"

namespace hearth {

// The named set, or the best one for an empty name. Throws StartupError.
const Kernels& choose_kernels(std::string_view isa);

}  // namespace hearth
