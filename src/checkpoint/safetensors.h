// safetensors.h — one .safetensors file: named tensors, checked against the file before anything is read.
//
//   u64 header length │ header: JSON {name: {dtype, shape, data_offsets: [begin, end)}, "__metadata__": {…}} │ data
//
// Before    every dtype known, shape × dtype = end − begin, ranges inside the file, no gap, no overlap, no name twice.
// Threads   const methods from any thread.
// Errors    StartupError: what was expected and found; where = file: tensor.
// Source    the safetensors format description (huggingface/safetensors).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/file_reader.h"
#include "quant/format.h"

namespace hearth {

struct SafetensorsEntry {
  std::string name;
  Format format = Format::f32;
  std::vector<std::int64_t> shape;  // row-major
  std::uint64_t begin = 0;          // offset in the data part
  std::uint64_t bytes = 0;

  std::int64_t numbers() const;  // product of the shape
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;  // by offset
  std::map<std::string, std::string> metadata;
};

// The JSON part alone, checked against data_bytes, the size of what follows it. file is for messages.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes, const std::string& file);

class SafetensorsFile {
 public:
  explicit SafetensorsFile(const std::string& path);

  const std::string& path() const { return reader_.path(); }
  const std::vector<SafetensorsEntry>& tensors() const { return header_.entries; }
  const std::map<std::string, std::string>& metadata() const { return header_.metadata; }
  const SafetensorsEntry* find(std::string_view name) const;  // null when absent
  const SafetensorsEntry& at(std::string_view name) const;    // StartupError when absent

  // Bytes of a tensor, from offset on; [offset, offset + dst.size()) lies inside it.
  void read(const SafetensorsEntry& entry, std::span<std::byte> dst, std::uint64_t offset = 0) const;
  // Whole tensors for tests and small parameters, widened to f32 (floats only) or i64 (integers only).
  std::vector<float> read_f32(std::string_view name) const;
  std::vector<std::int64_t> read_i64(std::string_view name) const;
  std::vector<std::byte> read_bytes(std::string_view name) const;

 private:
  FileReader reader_;
  std::uint64_t data_begin_ = 0;
  SafetensorsHeader header_;
  std::unordered_map<std::string_view, std::size_t> index_;  // into header_.entries
};

// For tests and conversions. Entries are written in the given order; begin is filled in.
struct SafetensorsTensor {
  std::string name;
  Format format = Format::f32;
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;
};
void write_safetensors(const std::string& path, const std::vector<SafetensorsTensor>& tensors,
                       const std::map<std::string, std::string>& metadata = {});

// "BF16" for a format, empty when safetensors has none; and back.
std::string_view safetensors_dtype(Format format);
bool safetensors_format(std::string_view dtype, Format& format);

}  // namespace hearth
