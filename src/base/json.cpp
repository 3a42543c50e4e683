#include "base/json.h"

#include <fmt/format.h>

namespace hearth {

Result<Json> parse_json(std::string_view text, int max_depth) {
  // Depth first, by a scan: the parser builds containers before a callback could stop it.
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth)
        return invalid_argument(fmt::format("JSON is nested deeper than {} levels (at byte {})", max_depth, i));
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while …": the last part is for people.
  const auto reason = [](std::string_view what) {
    if (const std::size_t at = what.find("] "); what.starts_with("[json.") && at != what.npos)
      what.remove_prefix(at + 2);
    if (const std::size_t at = what.find(": "); what.starts_with("parse error") && at != what.npos)
      what.remove_prefix(at + 2);
    return what;
  };
  try {
    return Json::parse(text);
  } catch (const Json::parse_error& e) {
    return invalid_argument(fmt::format("invalid JSON at byte {}: {}", e.byte, reason(e.what())));
  } catch (const Json::exception& e) {
    return invalid_argument(fmt::format("invalid JSON: {}", reason(e.what())));
  }
}

std::string dump_json(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace hearth
