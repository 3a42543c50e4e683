// stacked_experts.h — one tensor for all experts, seen as one matrix an expert.
//
//   …mlp.experts.gate_up_proj [E, 2F, D]  →  …mlp.experts.{e}.gate_proj.weight = rows [0, F) of expert e, up_proj = rows [F, 2F)
//   …mlp.experts.down_proj    [E, D, F]   →  …mlp.experts.{e}.down_proj.weight
//
// An expert's matrix is a run of whole rows, so it is a byte range of the stack in every format.
#pragma once

#include <cstdint>
#include <vector>

#include "checkpoint/weight_source.h"

namespace hearth {

struct ExpertSlice {
  SourceTensor tensor;
  std::int64_t offset = 0;  // bytes into the stack
};

// Empty when the name is not one of a stack. StartupError (at where) when it is and the shape is none.
std::vector<ExpertSlice> expert_slices(const SourceTensor& stack, const std::string& where);

// Expert slices of a stack [E, N, K] under prefix + "{e}." + projection + ".weight", rows [begin, end) of each expert.
void append_expert_slices(const SourceTensor& stack, const std::string& prefix, const std::string& projection,
                          std::int64_t begin, std::int64_t end, std::vector<ExpertSlice>& out);

}  // namespace hearth
