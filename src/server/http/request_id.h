// request_id.h — the id of a request: the client's X-Request-Id when it is sane, else 32 random hex digits.
#pragma once

#include <string>
#include <string_view>

namespace hearth {

std::string random_hex(int digits);
// Refused: empty, longer than 256, control characters.
std::string request_id_from(std::string_view header);

}  // namespace hearth
