// json.h — JSON values with the client's key order kept, and a parser that bounds depth and refuses bad UTF-8.
//
// Errors    parse_json: invalid_argument with the byte offset; depth above max_depth is an error, never a crash.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>

#include "base/result.h"

namespace hearth {

using Json = nlohmann::ordered_json;

Result<Json> parse_json(std::string_view text, int max_depth = 512);

// One line, UTF-8 kept; invalid UTF-8 in strings becomes U+FFFD (never throws).
std::string dump_json(const Json& value);

}  // namespace hearth
