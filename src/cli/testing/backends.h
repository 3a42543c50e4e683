// backends.h — the backends that tests of whole models and of kernel fixtures run on. `cli` alone names backends.
#pragma once

#include <memory>
#include <ostream>

#include "backend/cpu/cpu_ops.h"
#include "backend/ref/ref_ops.h"
#include "compute/checked_ops.h"

namespace hearth {

struct TestBackend {
  const char* name;
  std::unique_ptr<Ops> (*make)();
};
inline void PrintTo(const TestBackend& b, std::ostream* os) { *os << b.name; }

// Checked: a model that breaks a promise of ops.h is found before its numbers are.
inline const TestBackend kTestBackends[] = {
    {"ref", []() -> std::unique_ptr<Ops> { return std::make_unique<CheckedOps>(make_ref_ops()); }},
    {"cpu",
     []() -> std::unique_ptr<Ops> { return std::make_unique<CheckedOps>(make_cpu_ops({.threads = 2, .isa = {}})); }},
    {"cpu_portable", []() -> std::unique_ptr<Ops> { return make_cpu_ops({.threads = 1, .isa = "portable"}); }},
};

}  // namespace hearth
