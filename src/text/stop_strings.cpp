#include "text/stop_strings.h"

#include <utility>

namespace hearth {

StopStrings::StopStrings(std::vector<std::string> stops, bool include_in_output)
    : stops_(std::move(stops)), include_(include_in_output) {
  std::erase(stops_, std::string());
}

std::string StopStrings::push(std::string_view text, bool check) {
  if (matched_) return {};
  held_.append(text);
  if (!check) return std::exchange(held_, {});
  return scan(false);
}

std::string StopStrings::finish() { return matched_ ? std::string() : scan(true); }

// held_ = [sent by this call | the stop string, or its beginning | …]. last: nothing follows, so a beginning is only text.
std::string StopStrings::scan(bool last) {
  const std::string_view held = held_;
  for (std::size_t pos = 0; pos < held.size(); ++pos) {
    const std::string_view here = held.substr(pos);
    for (const std::string& stop : stops_) {
      if (here.starts_with(stop)) {
        matched_ = stop;
        std::string out(held.substr(0, include_ ? pos + stop.size() : pos));
        held_.clear();
        return out;
      }
      if (!last && stop.starts_with(here)) {
        std::string out(held.substr(0, pos));
        held_.erase(0, pos);
        return out;
      }
    }
  }
  return std::exchange(held_, {});
}

}  // namespace hearth
