#include "checkpoint/stacked_experts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/status.h"

namespace hearth {

void append_expert_slices(const SourceTensor& stack, const std::string& prefix, const std::string& projection,
                          std::int64_t begin, std::int64_t end, std::vector<ExpertSlice>& out) {
  const std::int64_t cols = stack.shape[2];
  const std::int64_t row_bytes = format_bytes(stack.format, cols);
  for (std::int64_t e = 0; e < stack.shape[0]; ++e) {
    ExpertSlice s;
    s.tensor = {fmt::format("{}{}.{}.weight", prefix, e, projection),
                stack.format,
                {end - begin, cols},
                (end - begin) * row_bytes};
    s.offset = (e * stack.shape[1] + begin) * row_bytes;
    out.push_back(std::move(s));
  }
}

std::vector<ExpertSlice> expert_slices(const SourceTensor& stack, const std::string& where) {
  const std::string_view name = stack.name;
  const bool gate_up = name.ends_with(".mlp.experts.gate_up_proj");
  if (!gate_up && !name.ends_with(".mlp.experts.down_proj")) return {};
  const bool empty = std::find(stack.shape.begin(), stack.shape.end(), 0) != stack.shape.end();
  if (stack.shape.size() != 3 || empty || (gate_up && stack.shape[1] % 2 != 0)) {
    throw StartupError(fmt::format("expected the experts stacked as {}, found shape [{}]",
                                   gate_up ? "[experts, 2 · width, hidden]" : "[experts, hidden, width]",
                                   fmt::join(stack.shape, ", ")),
                       where + ": " + stack.name, "the checkpoint does not have the layout of its model type");
  }
  std::vector<ExpertSlice> out;
  const std::string prefix(name.substr(0, name.rfind('.') + 1));
  if (gate_up) {
    const std::int64_t width = stack.shape[1] / 2;
    append_expert_slices(stack, prefix, "gate_proj", 0, width, out);
    append_expert_slices(stack, prefix, "up_proj", width, 2 * width, out);
  } else {
    append_expert_slices(stack, prefix, "down_proj", 0, stack.shape[1], out);
  }
  return out;
}

}  // namespace hearth
