// temp_dir.h — a folder for one test, removed with it; and what a call threw.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

#include "base/status.h"

namespace hearth {

class TempDir {
 public:
  TempDir() {
    std::string name = (std::filesystem::temp_directory_path() / "hearth_test_XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr)
      throw StartupError("cannot make a folder for the test", name, "check TMPDIR");
    path_ = name;
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string path() const { return path_.string(); }
  std::string operator/(std::string_view name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// "what | where | hint" of the StartupError that f throws; empty when it throws none.
template <class F>
std::string startup_error(F f) {
  try {
    f();
  } catch (const StartupError& e) {
    return std::string(e.what()) + " | " + e.where() + " | " + e.hint();
  }
  return {};
}

}  // namespace hearth
