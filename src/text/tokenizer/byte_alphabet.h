// byte_alphabet.h — GPT-2's printable stand-in for each byte: byte-level vocabularies are spelled in it ("Ġhello" is " hello").
//
// Source    Language Models are Unsupervised Multitask Learners (GPT-2), its published encoder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

// U+0021 … U+0143.
char32_t byte_letter(std::uint8_t byte);
std::string to_byte_letters(std::string_view bytes);
// Nothing if the text holds a character that stands for no byte.
std::optional<std::string> from_byte_letters(std::string_view text);

}  // namespace hearth
