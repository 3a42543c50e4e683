// gguf_bytes.h — GGUF files made by hand, byte by byte, right or wrong.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

class GgufBytes {
 public:
  std::string out;

  template <class T>
  GgufBytes& number(T v) {
    out.append(reinterpret_cast<const char*>(&v), sizeof(T));
    return *this;
  }
  GgufBytes& u32(std::uint32_t v) { return number(v); }
  GgufBytes& u64(std::uint64_t v) { return number(v); }
  GgufBytes& text(std::string_view s) {
    u64(s.size());
    out += s;
    return *this;
  }
  GgufBytes& opening(std::uint64_t tensors, std::uint64_t keys, std::uint32_t version = 3) {
    out += "GGUF";
    return u32(version).u64(tensors).u64(keys);
  }
  GgufBytes& string_key(std::string_view key, std::string_view value) { return text(key).u32(8).text(value); }
  GgufBytes& tensor(std::string_view name, std::initializer_list<std::uint64_t> dims, std::uint32_t type,
                    std::uint64_t offset) {
    text(name).u32(static_cast<std::uint32_t>(dims.size()));
    for (std::uint64_t d : dims) u64(d);
    return u32(type).u64(offset);
  }
  GgufBytes& pad(std::size_t to = 32) {
    out.resize((out.size() + to - 1) / to * to, '\0');
    return *this;
  }
};

}  // namespace hearth
