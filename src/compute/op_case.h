// op_case.h — the cases that every backend must agree on: one list compares any Ops with the reference.
//
//   for (const OpCase& c : all_op_cases(seed)) EXPECT_EQ(compare_op(c, *make_ref_ops(), *make_cpu_ops(...)), "");
//
// A case draws its inputs from its seed, poisons its outputs (NaN, also around strided views, where nothing may be written or
// read), runs the operation and returns what came out, each number with the tolerance that follows from the arithmetic which
// the backend declares. Cases of recurrences and of rows also run cut in pieces: their outputs must be equal bit for bit.
//
// To add    one file cases/<op>.cpp that defines `const OpCases cases_<op>`; the folder is the registry.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compute/ops.h"

namespace hearth {

struct CaseOutput {
  std::string name;
  std::vector<float> values;
  std::vector<double> tolerance;  // largest difference allowed, a number each
};

struct OpCase {
  std::string name;  // "linear q4_k T=3 N=33 K=512 seed=0x2a"
  std::function<std::vector<CaseOutput>(Ops&)> run;
};

struct OpCases {
  std::string_view op;
  void (*add)(std::vector<OpCase>& list, std::uint64_t seed);  // each case draws from its own seed, made from this one
};

std::span<const OpCases* const> all_cases();  // what the folder cases/ holds
std::vector<OpCase> all_op_cases(std::uint64_t seed);

// Runs the case on both; empty when they agree, else the first number that differs and by how much.
std::string compare_op(const OpCase& op_case, Ops& reference, Ops& other);

}  // namespace hearth
