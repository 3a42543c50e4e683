#include "checkpoint/safetensors.h"

#include <fmt/format.h>

#include <cstring>

#include "base/check.h"
#include "base/status.h"

namespace hearth {
namespace {

constexpr std::uint64_t kHeaderLimitBytes = 256u << 20;

std::uint64_t little_endian_u64(const std::byte* p) {
  std::uint64_t v = 0;
  for (int i = 8; i-- > 0;) v = (v << 8) | static_cast<std::uint64_t>(p[i]);
  return v;
}

}  // namespace

std::int64_t SafetensorsEntry::numbers() const {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  return n;
}

SafetensorsFile::SafetensorsFile(const std::string& path) : reader_(path) {
  if (reader_.size() < 8) {
    throw StartupError(
        fmt::format("expected a header length in the first 8 bytes, found a file of {} bytes", reader_.size()), path,
        "the file is truncated: fetch it again");
  }
  std::byte length_bytes[8];
  reader_.read(0, length_bytes);
  const std::uint64_t length = little_endian_u64(length_bytes);
  if (length > reader_.size() - 8 || length > kHeaderLimitBytes) {
    throw StartupError(
        fmt::format("the header's length is given as {} bytes: expected at most {}, found {} bytes in the whole file",
                    length, std::min(kHeaderLimitBytes, reader_.size() - 8), reader_.size()),
        path, "the file is truncated, or no safetensors file: fetch it again");
  }
  std::string json(static_cast<std::size_t>(length), '\0');
  reader_.read(8, std::as_writable_bytes(std::span(json)));
  data_begin_ = 8 + length;
  header_ = parse_safetensors_header(json, reader_.size() - data_begin_, path);
  for (std::size_t i = 0; i < header_.entries.size(); ++i) index_.emplace(header_.entries[i].name, i);
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto it = index_.find(name);
  return it == index_.end() ? nullptr : &header_.entries[it->second];
}

const SafetensorsEntry& SafetensorsFile::at(std::string_view name) const {
  const SafetensorsEntry* e = find(name);
  if (e == nullptr)
    throw StartupError("the tensor is not in the file", fmt::format("{}: {}", path(), name), "check the name");
  return *e;
}

void SafetensorsFile::read(const SafetensorsEntry& entry, std::span<std::byte> dst, std::uint64_t offset) const {
  HEARTH_CHECK(offset <= entry.bytes && dst.size() <= entry.bytes - offset);
  reader_.read(data_begin_ + entry.begin + offset, dst);
}

std::vector<std::byte> SafetensorsFile::read_bytes(std::string_view name) const {
  const SafetensorsEntry& e = at(name);
  std::vector<std::byte> bytes(static_cast<std::size_t>(e.bytes));
  read(e, bytes);
  return bytes;
}

std::vector<float> SafetensorsFile::read_f32(std::string_view name) const {
  const SafetensorsEntry& e = at(name);
  const FormatInfo& info = format_info(e.format);
  if (!info.is_float_weight) {
    throw StartupError(fmt::format("expected floating-point numbers, found {}", info.name),
                       fmt::format("{}: {}", path(), name), "check the name");
  }
  const std::vector<std::byte> bytes = read_bytes(name);
  std::vector<float> out(static_cast<std::size_t>(e.numbers()));
  info.dequantize(bytes.data(), e.numbers(), out.data());
  return out;
}

std::vector<std::int64_t> SafetensorsFile::read_i64(std::string_view name) const {
  const SafetensorsEntry& e = at(name);
  const std::vector<std::byte> bytes = read_bytes(name);
  std::vector<std::int64_t> out(static_cast<std::size_t>(e.numbers()));
  const auto widen = [&]<class T>(T) {
    for (std::size_t i = 0; i < out.size(); ++i) {
      T v;
      std::memcpy(&v, bytes.data() + i * sizeof(T), sizeof(T));
      out[i] = static_cast<std::int64_t>(v);
    }
  };
  switch (e.format) {
    case Format::i8:
      widen(std::int8_t{});
      break;
    case Format::u8:
    case Format::boolean:
      widen(std::uint8_t{});
      break;
    case Format::i16:
      widen(std::int16_t{});
      break;
    case Format::u16:
      widen(std::uint16_t{});
      break;
    case Format::i32:
      widen(std::int32_t{});
      break;
    case Format::u32:
      widen(std::uint32_t{});
      break;
    case Format::i64:
      widen(std::int64_t{});
      break;
    case Format::u64:
      widen(std::uint64_t{});
      break;
    default:
      throw StartupError(fmt::format("expected integers, found {}", format_info(e.format).name),
                         fmt::format("{}: {}", path(), name), "check the name");
  }
  return out;
}

}  // namespace hearth
