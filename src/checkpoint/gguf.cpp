#include "checkpoint/gguf.h"

#include <fmt/format.h>

#include "base/check.h"
#include "base/status.h"

namespace hearth {
namespace {

[[noreturn]] void wrong(const std::string& path, std::string_view key, const char* expected, const char* found) {
  throw StartupError(fmt::format("expected {}, found {}", expected, found), fmt::format("{}: {}", path, key),
                     "the metadata does not fit this architecture: take another conversion of the model");
}

}  // namespace

std::int64_t GgufTensor::numbers() const {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  return n;
}

GgufFile::GgufFile(const std::string& path) : reader_(path) {
  header_ = parse_gguf([this](std::uint64_t offset, std::span<std::byte> dst) { reader_.read(offset, dst); },
                       reader_.size(), path);
  for (std::size_t i = 0; i < header_.metadata.size(); ++i) keys_.emplace(header_.metadata[i].first, i);
  for (std::size_t i = 0; i < header_.tensors.size(); ++i) names_.emplace(header_.tensors[i].name, i);
}

const GgufValue* GgufFile::find(std::string_view key) const {
  const auto it = keys_.find(key);
  return it == keys_.end() ? nullptr : &header_.metadata[it->second].second;
}

const GgufTensor* GgufFile::find_tensor(std::string_view name) const {
  const auto it = names_.find(name);
  return it == names_.end() ? nullptr : &header_.tensors[it->second];
}

template <class T>
std::optional<T> GgufFile::get(std::string_view key, const char* expected) const {
  const GgufValue* v = find(key);
  if (v == nullptr) return {};
  const T* t = std::get_if<T>(v);
  if (t == nullptr) wrong(path(), key, expected, "another type");
  return *t;
}

std::optional<std::int64_t> GgufFile::get_int(std::string_view key) const {
  return get<std::int64_t>(key, "an integer");
}
std::optional<bool> GgufFile::get_bool(std::string_view key) const { return get<bool>(key, "true or false"); }
std::optional<std::string> GgufFile::get_string(std::string_view key) const { return get<std::string>(key, "a text"); }
std::optional<std::vector<std::int64_t>> GgufFile::get_ints(std::string_view key) const {
  return get<std::vector<std::int64_t>>(key, "an array of integers");
}
std::optional<std::vector<double>> GgufFile::get_doubles(std::string_view key) const {
  return get<std::vector<double>>(key, "an array of numbers");
}
std::optional<std::vector<std::string>> GgufFile::get_strings(std::string_view key) const {
  return get<std::vector<std::string>>(key, "an array of texts");
}
std::optional<double> GgufFile::get_double(std::string_view key) const {
  const GgufValue* v = find(key);
  if (v != nullptr && std::holds_alternative<std::int64_t>(*v)) return static_cast<double>(std::get<std::int64_t>(*v));
  return get<double>(key, "a number");
}

std::int64_t GgufFile::need_int(std::string_view key) const {
  const auto v = get_int(key);
  if (!v) wrong(path(), key, "an integer", "no such key");
  return *v;
}
double GgufFile::need_double(std::string_view key) const {
  const auto v = get_double(key);
  if (!v) wrong(path(), key, "a number", "no such key");
  return *v;
}
std::string GgufFile::need_string(std::string_view key) const {
  auto v = get_string(key);
  if (!v) wrong(path(), key, "a text", "no such key");
  return std::move(*v);
}

void GgufFile::read(const GgufTensor& tensor, std::span<std::byte> dst, std::uint64_t offset) const {
  HEARTH_CHECK(offset <= tensor.bytes && dst.size() <= tensor.bytes - offset);
  reader_.read(header_.data_begin + tensor.offset + offset, dst);
}

std::vector<float> GgufFile::read_f32(const GgufTensor& tensor) const {
  const FormatInfo& info = format_info(tensor.format);
  if (!info.is_float_weight) wrong(path(), tensor.name, "floating-point numbers", "integers");
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
  read(tensor, bytes);
  std::vector<float> out(static_cast<std::size_t>(tensor.numbers()));
  info.dequantize(bytes.data(), tensor.numbers(), out.data());
  return out;
}

}  // namespace hearth
