#include "checkpoint/json_file.h"

#include <fmt/format.h>

#include "base/status.h"
#include "checkpoint/file_reader.h"

namespace hearth {
namespace {

constexpr std::uint64_t kJsonLimitBytes = 256u << 20;  // the index of a large mixture of experts is about 20 MB

}  // namespace

Json read_json_file(const std::string& path) {
  Result<Json> parsed = parse_json(FileReader(path).text(kJsonLimitBytes));
  if (!parsed) throw StartupError(parsed.status().message, path, "the file is damaged or cut: fetch it again");
  if (!parsed->is_object()) {
    throw StartupError(fmt::format("expected a JSON object, found {}", parsed->type_name()), path,
                       "this is not the file it should be");
  }
  return std::move(*parsed);
}

}  // namespace hearth
