// gguf.h — one GGUF file, version 2 or 3: metadata and tensors, checked against the file before anything is read.
//
//   "GGUF" │ version │ tensor count │ metadata count │ metadata │ tensor infos │ padding │ data, each tensor at a multiple of the alignment
//
// Before    every count and length fits the rest of the file before memory is taken for it; no key or tensor twice; every
//           tensor inside the file and right behind the one before it.
// Limits    split files, big-endian files and arrays of arrays are refused.
// Threads   const methods from any thread.
// Errors    StartupError: what was expected and found; where = file: key or tensor.
// Source    docs/models/gguf.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "base/file_reader.h"
#include "quant/format.h"

namespace hearth {

// Integers of every width are int64 (a u64 above its range stays uint64), f32 and f64 double, arrays of bool 0 and 1.
using GgufValue = std::variant<bool, std::int64_t, std::uint64_t, double, std::string, std::vector<std::int64_t>,
                               std::vector<double>, std::vector<std::string>>;
using GgufMetadata = std::vector<std::pair<std::string, GgufValue>>;  // in the file's order

struct GgufTensor {
  std::string name;
  Format format = Format::f32;
  std::vector<std::int64_t> shape;  // row-major: the file's dimensions reversed; the last is contiguous
  std::uint64_t offset = 0;         // in the data part
  std::uint64_t bytes = 0;

  std::int64_t numbers() const;
};

struct GgufHeader {
  std::uint32_t version = 3;
  std::uint64_t alignment = 32;
  GgufMetadata metadata;
  std::vector<GgufTensor> tensors;
  std::uint64_t data_begin = 0;
};

// Everything but the data. read(offset, dst) gives bytes of a file of size bytes.
using GgufRead = std::function<void(std::uint64_t offset, std::span<std::byte> dst)>;
GgufHeader parse_gguf(const GgufRead& read, std::uint64_t size, const std::string& file);

class GgufFile {
 public:
  explicit GgufFile(const std::string& path);

  const std::string& path() const { return reader_.path(); }
  std::uint32_t version() const { return header_.version; }
  std::uint64_t alignment() const { return header_.alignment; }
  const GgufMetadata& metadata() const { return header_.metadata; }
  const std::vector<GgufTensor>& tensors() const { return header_.tensors; }

  const GgufValue* find(std::string_view key) const;           // null when absent
  const GgufTensor* find_tensor(std::string_view name) const;  // null when absent

  // Metadata by type: empty when the key is absent, StartupError when it holds something else.
  std::optional<std::int64_t> get_int(std::string_view key) const;
  std::optional<double> get_double(std::string_view key) const;
  std::optional<bool> get_bool(std::string_view key) const;
  std::optional<std::string> get_string(std::string_view key) const;
  std::optional<std::vector<std::int64_t>> get_ints(std::string_view key) const;
  std::optional<std::vector<double>> get_doubles(std::string_view key) const;
  std::optional<std::vector<std::string>> get_strings(std::string_view key) const;
  // The same for a key that must be there.
  std::int64_t need_int(std::string_view key) const;
  double need_double(std::string_view key) const;
  std::string need_string(std::string_view key) const;

  // Bytes of a tensor, from offset on; [offset, offset + dst.size()) lies inside it.
  void read(const GgufTensor& tensor, std::span<std::byte> dst, std::uint64_t offset = 0) const;
  std::vector<float> read_f32(const GgufTensor& tensor) const;

 private:
  template <class T>
  std::optional<T> get(std::string_view key, const char* expected) const;

  FileReader reader_;
  GgufHeader header_;
  std::unordered_map<std::string_view, std::size_t> keys_, names_;  // into header_
};

// For tests and conversions. Integers are written as u32 or i32 where they fit, numbers as f32.
struct GgufOutTensor {
  std::string name;
  Format format = Format::f32;
  std::vector<std::int64_t> shape;  // row-major
  std::vector<std::byte> data;
};
void write_gguf(const std::string& path, const GgufMetadata& metadata, const std::vector<GgufOutTensor>& tensors,
                std::uint32_t version = 3);

// The type's number in the file; empty when GGUF has no such type, or a number when it is not read here.
std::optional<std::uint32_t> gguf_type_id(Format format);
std::optional<Format> gguf_format(std::uint32_t type_id);
std::string gguf_type_name(std::uint32_t type_id);  // "IQ2_XXS", "type 99"

}  // namespace hearth
