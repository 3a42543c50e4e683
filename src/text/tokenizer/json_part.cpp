#include "text/tokenizer/json_part.h"

#include <fmt/format.h>

#include "base/status.h"

namespace hearth {

void JsonPart::fail(std::string_view what) const {
  throw StartupError(fmt::format("tokenizer: {}: {}", path_.empty() ? "the whole file" : path_, what), file_,
                     "fetch the model's tokenizer files again; if they are intact, the model needs what is named here");
}

bool JsonPart::has(const char* key) const {
  return value_.is_object() && value_.contains(key) && !value_.at(key).is_null();
}

JsonPart JsonPart::at(const char* key) const {
  if (!value_.is_object()) fail(fmt::format("expected an object, found {}", value_.type_name()));
  if (!value_.contains(key)) fail(fmt::format("\"{}\" is missing", key));
  return {value_.at(key), file_, path_.empty() ? key : fmt::format("{}.{}", path_, key)};
}

JsonPart JsonPart::item(std::size_t i) const { return {value_.at(i), file_, fmt::format("{}[{}]", path_, i)}; }

std::size_t JsonPart::size() const {
  if (!value_.is_array()) fail(fmt::format("expected an array, found {}", value_.type_name()));
  return value_.size();
}

std::string JsonPart::text() const {
  if (!value_.is_string()) fail(fmt::format("expected a string, found {}", value_.type_name()));
  return value_.get<std::string>();
}

bool JsonPart::flag(const char* key, bool absent) const {
  if (!has(key)) return absent;
  const JsonPart part = at(key);
  if (!part.value_.is_boolean()) part.fail(fmt::format("expected true or false, found {}", part.value_.type_name()));
  return part.value_.get<bool>();
}

std::int64_t JsonPart::integer() const {
  if (!value_.is_number_integer() || (value_.is_number_unsigned() && value_.get<std::uint64_t>() > INT64_MAX))
    fail(fmt::format("expected an integer, found {}", value_.dump().substr(0, 40)));
  return value_.get<std::int64_t>();
}

}  // namespace hearth
