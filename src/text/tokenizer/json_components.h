// json_components.h — the named parts of tokenizer.json: normalizer, pre_tokenizer, decoder, post_processor.
//
// Errors    a type that is not known, or an option that is not offered, is a StartupError naming the file and the part.
#pragma once

#include <functional>
#include <optional>

#include "text/tokenizer/json_part.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/token_decoder.h"

namespace hearth {

struct JsonPreTokenizer {
  PreTokenizer steps;
  bool raw_bytes = false;  // "ByteLevel" is the last step: its letters are left out and the model works on bytes
};

// Each takes null too.
Normalizer read_normalizer(const JsonPart& part);
JsonPreTokenizer read_pre_tokenizer(const JsonPart& part);
TokenDecoder read_decoder(const JsonPart& part);

struct JsonPostProcessor {
  std::vector<std::int32_t> before, after;
};
JsonPostProcessor read_post_processor(const JsonPart& part);

}  // namespace hearth
