#include "text/tokenizer/added_tokens.h"

#include <utf8proc.h>

#include <algorithm>

#include "text/utf8.h"

namespace hearth {
namespace {

bool is_word(char32_t c) {
  if (c == '_') return true;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    default:
      return false;
  }
}

// Start of the character that ends at `end`.
std::size_t step_back(std::string_view text, std::size_t end) {
  std::size_t pos = end - 1;
  while (pos > 0 && (static_cast<std::uint8_t>(text[pos]) & 0xC0) == 0x80) --pos;
  return pos;
}

bool word_before(std::string_view text, std::size_t pos) {
  return pos > 0 && is_word(utf8_step(text, step_back(text, pos)).code);
}
bool word_after(std::string_view text, std::size_t pos) {
  return pos < text.size() && is_word(utf8_step(text, pos).code);
}

std::size_t space_start(std::string_view text, std::size_t pos, std::size_t floor) {
  while (pos > floor) {
    const std::size_t before = step_back(text, pos);
    if (!is_white_space(utf8_step(text, before).code)) break;
    pos = before;
  }
  return std::max(pos, floor);
}

std::size_t space_end(std::string_view text, std::size_t pos) {
  while (pos < text.size()) {
    const Utf8Step step = utf8_step(text, pos);
    if (!is_white_space(step.code)) break;
    pos += step.size;
  }
  return pos;
}

}  // namespace

AddedTokens::AddedTokens() : nodes_(1) { first_.fill(-1); }

std::int32_t AddedTokens::child(std::int32_t node, std::uint8_t byte) const {
  const auto& next = nodes_[static_cast<std::size_t>(node)].next;
  const auto it =
      std::lower_bound(next.begin(), next.end(), byte, [](const auto& a, std::uint8_t b) { return a.first < b; });
  return it != next.end() && it->first == byte ? it->second : -1;
}

void AddedTokens::insert(std::string_view spelling, const AddedToken& token) {
  if (spelling.empty()) return;
  std::int32_t node = 0;
  for (std::size_t i = 0; i < spelling.size(); ++i) {
    const auto byte = static_cast<std::uint8_t>(spelling[i]);
    std::int32_t to = i == 0 ? first_[byte] : child(node, byte);
    if (to < 0) {
      to = static_cast<std::int32_t>(nodes_.size());
      nodes_.emplace_back();
      if (i == 0) {
        first_[byte] = to;
      } else {
        auto& next = nodes_[static_cast<std::size_t>(node)].next;
        next.insert(std::upper_bound(next.begin(), next.end(), std::pair{byte, to}), {byte, to});
      }
    }
    node = to;
  }
  nodes_[static_cast<std::size_t>(node)].token = static_cast<std::int32_t>(tokens_.size());
  tokens_.push_back(token);
  white_.push_back(!token.special && space_end(spelling, 0) == spelling.size());
}

AddedTokens::Found AddedTokens::longest_at(std::string_view text, std::string_view marks, std::size_t pos) const {
  Found found{-1, pos};
  bool hidden = false;
  std::int32_t node = first_[static_cast<std::uint8_t>(text[pos])];
  for (std::size_t end = pos + 1; node >= 0; ++end) {
    hidden = hidden || (!marks.empty() && marks[end - 1] != 0);
    const std::int32_t token = nodes_[static_cast<std::size_t>(node)].token;
    if (token >= 0 && (!hidden || white_[static_cast<std::size_t>(token)])) found = {token, end};
    if (end == text.size()) break;
    node = child(node, static_cast<std::uint8_t>(text[end]));
  }
  return found;
}

std::vector<Stretch> AddedTokens::split(std::string_view text, std::string_view marks, bool parse_special) const {
  std::vector<Stretch> out;
  std::size_t done = 0;
  for (std::size_t pos = 0; pos < text.size() && !tokens_.empty();) {
    const Found found = longest_at(text, marks, pos);
    if (found.token < 0) {
      ++pos;
      continue;
    }
    std::size_t begin = pos, end = found.end;
    pos = found.end;
    const AddedToken& token = tokens_[static_cast<std::size_t>(found.token)];
    if (token.special && !parse_special) continue;
    if (token.single_word && (word_before(text, begin) || word_after(text, end))) continue;
    begin = token.lstrip ? space_start(text, begin, done) : std::max(begin, done);
    if (token.rstrip) end = space_end(text, end);
    if (done < begin) out.push_back({-1, done, begin});
    out.push_back({token.id, begin, end});
    done = end;
  }
  if (done < text.size()) out.push_back({-1, done, text.size()});
  return out;
}

}  // namespace hearth
