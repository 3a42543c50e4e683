#include "server/api/logprobs.h"

#include <fmt/format.h>

#include <algorithm>

#include "text/utf8.h"

namespace hearth {
namespace {

constexpr double kLowest = -9999.0;

double shown(float logprob) { return logprob >= kLowest ? static_cast<double>(logprob) : kLowest; }  // NaN too

Json entry(const Tokenizer& tokenizer, std::int32_t id, float logprob, bool as_id) {
  Json bytes = Json::array();
  for (const char c : tokenizer.bytes(id)) bytes.push_back(static_cast<unsigned char>(c));
  return {{"token", token_text(tokenizer, id, as_id)}, {"logprob", shown(logprob)}, {"bytes", std::move(bytes)}};
}

std::int64_t count_characters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; });
}

}  // namespace

std::string token_text(const Tokenizer& tokenizer, std::int32_t id, bool as_id) {
  if (as_id) return fmt::format("token_id:{}", id);
  return to_utf8(tokenizer.bytes(id));
}

// The chosen token first, then the best; the list is cut to `top`, so a chosen token outside the best displaces the last.
Json chat_logprobs(const Tokenizer& tokenizer, std::span<const TokenOutput> tokens, int top, bool as_ids) {
  Json content = Json::array();
  for (const TokenOutput& t : tokens) {
    Json item = entry(tokenizer, t.token, t.logprob, as_ids);
    Json best = Json::array();
    if (top > 0) best.push_back(item);
    for (const TokenLogprob& other : t.top) {
      if (static_cast<int>(best.size()) >= top) break;
      if (other.token != t.token) best.push_back(entry(tokenizer, other.token, other.logprob, as_ids));
    }
    item["top_logprobs"] = std::move(best);
    content.push_back(std::move(item));
  }
  return {{"content", std::move(content)}};
}

Json prompt_logprobs_json(const Tokenizer& tokenizer, std::span<const TokenOutput> rows,
                          std::span<const std::int32_t> prompt) {
  Json list = Json::array();
  for (std::size_t i = 0; i < rows.size() && i < prompt.size(); ++i) {
    if (i == 0) {
      list.push_back(nullptr);
      continue;
    }
    Json map = Json::object();
    const auto put = [&](std::int32_t id, float logprob, int rank) {
      map[std::to_string(id)] = {
          {"logprob", shown(logprob)}, {"rank", rank}, {"decoded_token", token_text(tokenizer, id)}};
    };
    put(prompt[i], rows[i].logprob, rows[i].rank);
    for (const TokenLogprob& t : rows[i].top)
      if (t.token != prompt[i]) put(t.token, t.logprob, t.rank);
    list.push_back(std::move(map));
  }
  return list;
}

void LegacyLogprobs::add(const Tokenizer& tokenizer, const TokenOutput& token, bool first_of_prompt) {
  const std::string text = token_text(tokenizer, token.token, as_ids_);
  tokens_.push_back(text);
  text_offset_.push_back(offset_);
  offset_ += count_characters(token_text(tokenizer, token.token));
  if (first_of_prompt) {
    token_logprobs_.push_back(nullptr);
    top_logprobs_.push_back(nullptr);
    return;
  }
  token_logprobs_.push_back(shown(token.logprob));
  Json map = Json::object();
  map[text] = shown(token.logprob);
  for (const TokenLogprob& t : token.top) {
    // Two tokens may read the same (halves of characters): the likelier stays.
    const auto [at, added] = map.emplace(token_text(tokenizer, t.token, as_ids_), shown(t.logprob));
    if (!added && t.token != token.token) at.value() = std::max(at->get<double>(), shown(t.logprob));
  }
  top_logprobs_.push_back(std::move(map));
}

Json LegacyLogprobs::take() {
  Json out = {{"text_offset", std::move(text_offset_)},
              {"token_logprobs", std::move(token_logprobs_)},
              {"tokens", std::move(tokens_)},
              {"top_logprobs", std::move(top_logprobs_)}};
  tokens_ = token_logprobs_ = top_logprobs_ = text_offset_ = Json::array();
  return out;
}

}  // namespace hearth
