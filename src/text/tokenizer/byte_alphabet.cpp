#include "text/tokenizer/byte_alphabet.h"

#include <array>

#include "text/utf8.h"

namespace hearth {
namespace {

struct Table {
  std::array<char32_t, 256> letter{};
  std::array<std::int16_t, 0x144> byte{};
  Table() {
    byte.fill(-1);
    char32_t spare = 256;
    for (unsigned b = 0; b < 256; ++b) {
      const bool printable = (b >= 33 && b <= 126) || (b >= 161 && b <= 172) || b >= 174;
      letter[b] = printable ? b : spare++;
      byte[letter[b]] = static_cast<std::int16_t>(b);
    }
  }
};

const Table& table() {
  static const Table t;
  return t;
}

}  // namespace

char32_t byte_letter(std::uint8_t byte) { return table().letter[byte]; }

std::string to_byte_letters(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char c : bytes) append_utf8(out, byte_letter(static_cast<std::uint8_t>(c)));
  return out;
}

std::optional<std::string> from_byte_letters(std::string_view text) {
  std::string out;
  for (std::size_t pos = 0; pos < text.size();) {
    const Utf8Step step = utf8_step(text, pos);
    if (step.kind != Utf8Kind::whole || step.code >= table().byte.size() || table().byte[step.code] < 0)
      return std::nullopt;
    out.push_back(static_cast<char>(table().byte[step.code]));
    pos += step.size;
  }
  return out;
}

}  // namespace hearth
