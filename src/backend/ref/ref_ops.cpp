#include "backend/ref/ref_ops.h"

#include <algorithm>

#include "backend/ref/scratch.h"

namespace hearth {

// One operation after the other: the largest of them.
std::size_t RefOps::workspace_bytes(const StepShape& s) {
  return std::max(
      {Workspace::bytes_of<LinearScratch>(s.tokens, s.linear_cols),
       Workspace::bytes_of<ScoreScratch>(s.context, s.head_dim), Workspace::bytes_of<DeltaScratch>(s.value_dim),
       Workspace::bytes_of<RouterScratch>(s.active_experts, s.experts),
       s.active_experts > 0 ? Workspace::bytes_of<ExpertScratch>(s.tokens, s.moe_hidden, s.expert_width) : 0});
}

std::unique_ptr<Ops> make_ref_ops(RefOptions options) { return std::make_unique<RefOps>(options); }

}  // namespace hearth
