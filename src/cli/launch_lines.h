// launch_lines.h — the launch lines that people have, and what becomes of each today: docs/howto/launch-lines.md is
// written from this table, the unit test checks the parser against it, the end-to-end test runs what the document says.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct LaunchLine {
  std::string_view name;
  std::vector<std::string> args;  // after `hearth`, MODEL for the model
  std::string_view refused;       // the options that are refused, space-separated; empty: it starts
};

std::span<const LaunchLine> launch_lines();
std::string launch_lines_markdown();

}  // namespace hearth
