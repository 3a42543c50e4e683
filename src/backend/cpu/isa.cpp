#include "backend/cpu/isa.h"

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "backend/cpu/cpu_ops.h"
#include "base/status.h"

namespace hearth {
namespace {

#if defined(__x86_64__)
// __builtin_cpu_supports of clang 14 does not know this name.
bool has_f16c() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  return __get_cpuid(1, &eax, &ebx, &ecx, &edx) != 0 && (ecx & bit_F16C) != 0;
}
#endif

std::vector<const Kernels*> available() {  // best first
  std::vector<const Kernels*> sets;
#if defined(__x86_64__)
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && has_f16c();
  if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512vnni"))
    sets.push_back(&kKernelsAvx512);
  if (avx2) sets.push_back(&kKernelsAvx2);
#elif defined(__aarch64__)
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) sets.push_back(&kKernelsDotprod);
#endif
  sets.push_back(&kKernelsPortable);
  return sets;
}

}  // namespace

std::vector<std::string_view> available_isas() {
  std::vector<std::string_view> names;
  for (const Kernels* k : available()) names.push_back(k->name);
  return names;
}

const Kernels& choose_kernels(std::string_view isa) {
  const auto sets = available();
  if (isa.empty()) return *sets.front();
  for (const Kernels* k : sets)
    if (k->name == isa) return *k;
  throw StartupError(fmt::format("instruction set '{}' is not offered on this machine", isa), "cpu",
                     fmt::format("choose one of: {}", fmt::join(available_isas(), ", ")), 2);
}

}  // namespace hearth
