// stop_strings.h — finds stop strings in text that arrives in pieces; holds back what could still become one.
//
// Limits    holds at most max(len(stop)) - 1 bytes. The earliest match wins; of those starting there, the one that is listed first.
//           So a shorter match waits while a string that starts earlier, or is listed before it, may still be completed:
//           what is found does not depend on how the text was cut. finish() ends the waiting; look at matched() after it too.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

class StopStrings {
 public:
  StopStrings(std::vector<std::string> stops, bool include_in_output);
  // Text that may be sent now. After a match nothing more comes and matched() names it.
  // check == false (before min_tokens): passes text without looking, and forgets it for later matches.
  std::string push(std::string_view text, bool check = true);
  std::string finish();
  const std::optional<std::string>& matched() const { return matched_; }

 private:
  std::string scan(bool last);

  std::vector<std::string> stops_;
  bool include_;
  std::string held_;
  std::optional<std::string> matched_;
};

}  // namespace hearth
