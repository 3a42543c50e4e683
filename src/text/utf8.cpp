#include "text/utf8.h"

namespace hearth {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

std::uint8_t byte_at(std::string_view text, std::size_t i) { return static_cast<std::uint8_t>(text[i]); }

std::size_t ascii_run(std::string_view text, std::size_t pos) {
  std::size_t end = pos;
  while (end < text.size() && byte_at(text, end) < 0x80) ++end;
  return end - pos;
}

// ED A0 … ED BF begin the three bytes of a surrogate, which is no character. They are waited for all the same: so does
// Python's incremental decoder, with which streams are compared.
bool ends_in_half_surrogate(std::string_view bytes, std::size_t pos) {
  return bytes.size() - pos == 2 && byte_at(bytes, pos) == 0xED && byte_at(bytes, pos + 1) >= 0xA0 &&
         byte_at(bytes, pos + 1) <= 0xBF;
}

}  // namespace

Utf8Step utf8_step(std::string_view text, std::size_t pos) {
  const std::uint8_t lead = byte_at(text, pos);
  if (lead < 0x80) return {Utf8Kind::whole, 1, lead};
  // The second byte's range keeps out overlong forms, surrogates and what lies above U+10FFFF.
  int more = 0;
  std::uint8_t low = 0x80, high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF)
    more = 1;
  else if (lead >= 0xE0 && lead <= 0xEF)
    more = 2;
  else if (lead >= 0xF0 && lead <= 0xF4)
    more = 3;
  else
    return {Utf8Kind::broken, 1};
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;

  char32_t code = lead & (0x3F >> more);
  for (int i = 1; i <= more; ++i) {
    if (pos + static_cast<std::size_t>(i) >= text.size()) return {Utf8Kind::cut, static_cast<std::uint8_t>(i)};
    const std::uint8_t next = byte_at(text, pos + static_cast<std::size_t>(i));
    if (next < low || next > high) return {Utf8Kind::broken, static_cast<std::uint8_t>(i)};
    code = (code << 6) | (next & 0x3F);
    low = 0x80;
    high = 0xBF;
  }
  return {Utf8Kind::whole, static_cast<std::uint8_t>(more + 1), code};
}

bool is_utf8(std::string_view text) {
  for (std::size_t pos = 0; pos < text.size();) {
    const Utf8Step step = utf8_step(text, pos);
    if (step.kind != Utf8Kind::whole) return false;
    pos += step.size;
  }
  return true;
}

bool is_ascii(std::string_view text) { return ascii_run(text, 0) == text.size(); }

void append_utf8(std::string& out, char32_t code) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(byte)); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

std::size_t take_utf8(std::string_view bytes, std::string& out) {
  std::size_t pos = 0;
  while (pos < bytes.size()) {
    const std::size_t run = ascii_run(bytes, pos);
    out.append(bytes.substr(pos, run));
    pos += run;
    if (pos == bytes.size()) break;
    const Utf8Step step = utf8_step(bytes, pos);
    if (step.kind == Utf8Kind::cut || ends_in_half_surrogate(bytes, pos)) break;
    out.append(step.kind == Utf8Kind::whole ? bytes.substr(pos, step.size) : kReplacement);
    pos += step.size;
  }
  return pos;
}

std::string to_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  // What is left is one cut character, or two bytes of a surrogate, which are broken one by one.
  const std::size_t rest = bytes.size() - take_utf8(bytes, out);
  if (rest > 0) out.append(kReplacement);
  if (rest > 0 && ends_in_half_surrogate(bytes, bytes.size() - rest)) out.append(kReplacement);
  return out;
}

bool is_white_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || c == 0x20 || c == 0x85 || c == 0xA0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

}  // namespace hearth
