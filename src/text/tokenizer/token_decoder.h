// token_decoder.h — from a token's spelling to the bytes it adds to the output.
//
// Hugging Face's decoders work on lists of tokens; all that are offered act on each token alone, except that the first
// characters of a whole text may be dropped (SentencePiece's space).
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace hearth {

struct TokenDecoder {
  std::vector<std::function<std::string(std::string)>> steps;  // in order
  std::string strip;                                           // one character, or empty
  std::size_t strip_count = 0;                                 // how often at most at the start of a text

  std::string bytes(std::string_view spelling) const {
    std::string text(spelling);
    for (const auto& step : steps) text = step(std::move(text));
    return text;
  }
};

std::string decode_byte_letters(std::string token);   // as it is if a character stands for no byte
std::string decode_byte_fallback(std::string token);  // "<0xE4>" is one byte
std::string replace_all(std::string text, std::string_view from, std::string_view to);
// Drops `what` (a character) from the ends, at most so often.
std::string strip_token(std::string text, std::string_view what, std::size_t start, std::size_t stop);

}  // namespace hearth
