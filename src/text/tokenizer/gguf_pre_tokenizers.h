// gguf_pre_tokenizers.h — what tokenizer.ggml.pre stands for: GGUF names the split, it does not carry the pattern.
//
// Source    the patterns are those of each model's published tokenizer.json; the names are llama.cpp's.
#pragma once

#include <span>
#include <string_view>
#include <vector>

namespace hearth {

struct GgufPreTokenizer {
  std::vector<std::string_view> names;
  std::vector<const char*> patterns;  // one after the other; what a pattern doesn't match stays a piece
  bool nfc = false;                   // the model's tokenizer.json normalises (GGUF can't say so)
  bool ignore_merges = false;
  bool add_bos = false;  // unless tokenizer.ggml.add_bos_token says otherwise
};

std::span<const GgufPreTokenizer> gguf_pre_tokenizers();
// nullptr: unknown.
const GgufPreTokenizer* find_gguf_pre_tokenizer(std::string_view name);

}  // namespace hearth
