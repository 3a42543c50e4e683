#include "text/tokenizer/token_decoder.h"

#include "text/tokenizer/byte_alphabet.h"

namespace hearth {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return -1;
}

}  // namespace

std::string decode_byte_letters(std::string token) {
  if (auto bytes = from_byte_letters(token)) return *std::move(bytes);
  return token;
}

std::string decode_byte_fallback(std::string token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return token;
  const int high = hex_value(token[3]), low = hex_value(token[4]);
  if (high < 0 || low < 0) return token;
  return std::string(1, static_cast<char>(high * 16 + low));
}

std::string replace_all(std::string text, std::string_view from, std::string_view to) {
  if (from.empty()) return text;
  std::string out;
  std::size_t pos = 0;
  for (std::size_t at; (at = text.find(from, pos)) != std::string::npos; pos = at + from.size())
    out.append(text, pos, at - pos).append(to);
  return out.append(text, pos);
}

std::string strip_token(std::string text, std::string_view what, std::size_t start, std::size_t stop) {
  if (what.empty()) return text;
  std::string_view rest = text;
  for (; start > 0 && rest.starts_with(what); --start) rest.remove_prefix(what.size());
  for (; stop > 0 && rest.ends_with(what); --stop) rest.remove_suffix(what.size());
  return std::string(rest);
}

}  // namespace hearth
