// models_dir.h — where tests look for real models and vocabularies, which are not in the tree.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace hearth::testing {

// $HEARTH_MODELS, else ~/.cache/hearth/models.
inline std::filesystem::path models_dir() {
  if (const char* dir = std::getenv("HEARTH_MODELS")) return dir;
  const char* home = std::getenv("HOME");
  return std::filesystem::path(home ? home : "/root") / ".cache/hearth/models";
}

}  // namespace hearth::testing
