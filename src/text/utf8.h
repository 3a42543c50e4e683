// utf8.h — UTF-8 step by step, with the replacement rule of the Unicode standard: one U+FFFD for each maximal subpart.
//
// Limits    no allocation but the output's; any bytes are fine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace hearth {

enum class Utf8Kind : std::uint8_t {
  whole,   // a character of `size` bytes
  broken,  // `size` bytes that can become none, whatever follows
  cut,     // the text ends after `size` bytes of a character
};

struct Utf8Step {
  Utf8Kind kind;
  std::uint8_t size;  // 1 … 4
  char32_t code = 0;  // when whole
};

// Before    pos < text.size()
Utf8Step utf8_step(std::string_view text, std::size_t pos);

bool is_utf8(std::string_view text);
bool is_ascii(std::string_view text);
void append_utf8(std::string& out, char32_t code);

// Appends what `bytes` says for certain (broken parts as U+FFFD) and returns how many bytes that took; the rest, at most
// three bytes, may still become a character.
std::size_t take_utf8(std::string_view bytes, std::string& out);
// The whole of it; a cut end is broken too.
std::string to_utf8(std::string_view bytes);

// Unicode White_Space.
bool is_white_space(char32_t code);

}  // namespace hearth
