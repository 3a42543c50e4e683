// json_file.h — a JSON object from a file of a checkpoint.
#pragma once

#include <string>

#include "base/json.h"

namespace hearth {

// StartupError with the file and the byte offset when it is no JSON, or no object.
Json read_json_file(const std::string& path);

}  // namespace hearth
