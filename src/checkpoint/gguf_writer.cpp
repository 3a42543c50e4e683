// gguf_writer.cpp — for tests and conversions.
#include <cstring>
#include <fstream>

#include "base/check.h"
#include "base/status.h"
#include "checkpoint/gguf.h"

namespace hearth {
namespace {

constexpr std::uint64_t kAlignment = 32;

class Bytes {
 public:
  template <class T>
  void number(T v) {
    out_.append(reinterpret_cast<const char*>(&v), sizeof(T));
  }
  void text(std::string_view s) {
    number<std::uint64_t>(s.size());
    out_ += s;
  }
  void pad() { out_.resize((out_.size() + kAlignment - 1) / kAlignment * kAlignment, '\0'); }
  void append(const std::vector<std::byte>& b) { out_.append(reinterpret_cast<const char*>(b.data()), b.size()); }
  const std::string& out() const { return out_; }

  void value(const GgufValue& v) {
    std::visit([this](const auto& x) { write(x); }, v);
  }

 private:
  enum Type : std::uint32_t { kU32 = 4, kI32 = 5, kF32 = 6, kBool = 7, kString = 8, kArray = 9, kU64 = 10, kI64 = 11 };

  void write(bool v) {
    number<std::uint32_t>(kBool);
    number<std::uint8_t>(v ? 1 : 0);
  }
  void write(std::int64_t v) {
    if (v >= 0 && v <= UINT32_MAX) {
      number<std::uint32_t>(kU32);
      number(static_cast<std::uint32_t>(v));
    } else if (v < 0 && v >= INT32_MIN) {
      number<std::uint32_t>(kI32);
      number(static_cast<std::int32_t>(v));
    } else {
      number<std::uint32_t>(kI64);
      number(v);
    }
  }
  void write(std::uint64_t v) {
    number<std::uint32_t>(kU64);
    number(v);
  }
  void write(double v) {
    number<std::uint32_t>(kF32);
    number(static_cast<float>(v));
  }
  void write(const std::string& v) {
    number<std::uint32_t>(kString);
    text(v);
  }
  void array(std::uint32_t type, std::size_t n) {
    number<std::uint32_t>(kArray);
    number(type);
    number<std::uint64_t>(n);
  }
  void write(const std::vector<std::int64_t>& v) {
    array(kI32, v.size());
    for (std::int64_t x : v) number(static_cast<std::int32_t>(x));
  }
  void write(const std::vector<double>& v) {
    array(kF32, v.size());
    for (double x : v) number(static_cast<float>(x));
  }
  void write(const std::vector<std::string>& v) {
    array(kString, v.size());
    for (const std::string& s : v) text(s);
  }

  std::string out_;
};

}  // namespace

void write_gguf(const std::string& path, const GgufMetadata& metadata, const std::vector<GgufOutTensor>& tensors,
                std::uint32_t version) {
  Bytes b;
  for (char c : {'G', 'G', 'U', 'F'}) b.number(c);
  b.number(version);
  b.number<std::uint64_t>(tensors.size());
  b.number<std::uint64_t>(metadata.size());
  for (const auto& [key, value] : metadata) {
    b.text(key);
    b.value(value);
  }
  std::uint64_t offset = 0;
  for (const GgufOutTensor& t : tensors) {
    const std::optional<std::uint32_t> type = gguf_type_id(t.format);
    HEARTH_CHECK(type.has_value());
    b.text(t.name);
    b.number(static_cast<std::uint32_t>(t.shape.size()));
    for (std::size_t i = t.shape.size(); i-- > 0;) b.number(static_cast<std::uint64_t>(t.shape[i]));
    b.number(*type);
    b.number(offset);
    offset = (offset + t.data.size() + kAlignment - 1) / kAlignment * kAlignment;
  }
  b.pad();
  for (const GgufOutTensor& t : tensors) {
    b.append(t.data);
    b.pad();
  }
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(b.out().data(), static_cast<std::streamsize>(b.out().size()));
  out.close();
  if (!out) throw StartupError("writing the file failed", path, "check the space on the disk and the permissions");
}

}  // namespace hearth
