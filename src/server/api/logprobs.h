// logprobs.h — log-probabilities as the API says them: chat's list, the legacy columns, the prompt's maps.
//
// Values    below -9999 are said as -9999 (JSON has no infinity).
// Tokens    text with U+FFFD where the bytes are half a character; chat gives the exact bytes too. as_ids: "token_id:N".
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/json.h"
#include "engine/request.h"
#include "text/tokenizer.h"

namespace hearth {

std::string token_text(const Tokenizer& tokenizer, std::int32_t id, bool as_id = false);

// {"content": [{token, logprob, bytes, top_logprobs: […]}]}; top: how many alternatives an entry lists.
Json chat_logprobs(const Tokenizer& tokenizer, std::span<const TokenOutput> tokens, int top, bool as_ids);

// [null, {"id": {logprob, rank, decoded_token}}, …]
Json prompt_logprobs_json(const Tokenizer& tokenizer, std::span<const TokenOutput> rows,
                          std::span<const std::int32_t> prompt);

// {tokens, token_logprobs, top_logprobs, text_offset}; offsets in characters, from where the last take() ended.
class LegacyLogprobs {
 public:
  explicit LegacyLogprobs(bool as_ids) : as_ids_(as_ids) {}
  void add(const Tokenizer& tokenizer, const TokenOutput& token, bool first_of_prompt = false);
  Json take();

 private:
  bool as_ids_;
  std::int64_t offset_ = 0;
  Json tokens_ = Json::array(), token_logprobs_ = Json::array(), top_logprobs_ = Json::array(),
       text_offset_ = Json::array();
};

}  // namespace hearth
