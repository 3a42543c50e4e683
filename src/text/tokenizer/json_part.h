// json_part.h — a value in a JSON file that knows its file and path, so that every complaint names both.
#pragma once

#include <nlohmann/json.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

class JsonPart {
 public:
  // Keeps references to both.
  JsonPart(const nlohmann::json& value, const std::string& file, std::string path)
      : value_(value), file_(file), path_(std::move(path)) {}

  // Throws StartupError: "<path>: <what>" in <file>.
  [[noreturn]] void fail(std::string_view what) const;

  const nlohmann::json& value() const { return value_; }
  const std::string& path() const { return path_; }
  bool is_null() const { return value_.is_null(); }
  bool has(const char* key) const;     // there and not null
  JsonPart at(const char* key) const;  // fails if absent
  JsonPart item(std::size_t i) const;
  std::size_t size() const;  // of an array; fails for anything else
  std::string type() const { return at("type").text(); }
  std::string text() const;
  bool flag(const char* key, bool absent) const;
  std::int64_t integer() const;

 private:
  const nlohmann::json& value_;
  const std::string& file_;
  std::string path_;
};

}  // namespace hearth
