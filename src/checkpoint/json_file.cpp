#include "checkpoint/json_file.h"

#include <fmt/format.h>

#include "base/file_reader.h"
#include "base/status.h"

namespace hearth {
Json read_json_file(const std::string& path) {
  Result<Json> parsed = parse_json(FileReader(path).text());
  if (!parsed) throw StartupError(parsed.status().message, path, "the file is damaged or cut: fetch it again");
  if (!parsed->is_object()) {
    throw StartupError(fmt::format("expected a JSON object, found {}", parsed->type_name()), path,
                       "this is not the file it should be");
  }
  return std::move(*parsed);
}

}  // namespace hearth
