// detokenizer.h — tokens to text as they come: never half a character; a byte that can no longer become one is U+FFFD at once.
//
// Owns      the bytes held back (at most 3). One for each choice of a request.
// Cost      O(bytes of the token).
#pragma once

#include <cstdint>
#include <string>

#include "text/tokenizer.h"

namespace hearth {

class Detokenizer {
 public:
  // at_start: the ids begin a text, so SentencePiece's first space is dropped; otherwise they continue a prompt.
  Detokenizer(const Tokenizer& tokenizer, bool skip_special, bool at_start = false)
      : tokenizer_(tokenizer), skip_special_(skip_special), at_start_(at_start) {}
  std::string push(std::int32_t id);  // text that may be sent now
  std::string finish();               // the rest; held-back bytes become U+FFFD

 private:
  const Tokenizer& tokenizer_;
  bool skip_special_;
  bool at_start_;
  std::string held_;
};

}  // namespace hearth
