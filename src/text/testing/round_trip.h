// round_trip.h — a tokenizer at work on one text, for fuzz targets: whole, with marks, and streamed back to what decode says.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

namespace hearth::testing {

inline void round_trip(const Tokenizer& tokenizer, std::string_view text) {
  const std::vector<std::int32_t> ids = tokenizer.encode(text, {.add_special = true});
  tokenizer.encode(text, {.add_special = false, .parse_special = false});
  tokenizer.encode(MarkedText{std::string(text), {{0, text.size() / 2}}}, true);
  for (const bool skip_special : {false, true}) {
    Detokenizer detokenizer(tokenizer, skip_special, true);
    std::string streamed;
    for (const std::int32_t id : ids) streamed += detokenizer.push(id);
    streamed += detokenizer.finish();
    HEARTH_CHECK(streamed == tokenizer.decode(ids, skip_special));
  }
  for (const std::int32_t id : ids) {
    HEARTH_CHECK(id >= 0 && id < tokenizer.vocab_size());
    tokenizer.id_of(tokenizer.spelling(id));
  }
}

}  // namespace hearth::testing
