// added_tokens.h — tokens cut out of the text before anything else sees it: the leftmost, of those the longest.
//
// Owns      a byte trie of the spellings.
// Threads   const from any thread.
// Order     as Hugging Face's AddedVocabulary: what is found is never looked at again, even where single_word or
//           special = text rejects it; lstrip and rstrip take the white space beside a token with it.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

struct AddedToken {
  std::string content;
  std::int32_t id = -1;
  bool special = false;  // dropped by skip_special_tokens; text when parse_special is off
  bool single_word = false;
  bool lstrip = false;
  bool rstrip = false;
  bool normalized = false;  // looked for in the normalised text, under its own normalised spelling
};

// A stretch of the text: a token, or (id -1) text still to be encoded.
struct Stretch {
  std::int32_t id = -1;
  std::size_t begin = 0, end = 0;
};

class AddedTokens {
 public:
  AddedTokens();
  // spelling: content, normalised if the token asks for it. An empty one is ignored; of equal ones the last counts.
  void insert(std::string_view spelling, const AddedToken& token);
  bool empty() const { return tokens_.empty(); }

  // marks: empty, or one byte for each of text, non-zero where no token may be seen. (Tokens that are nothing but white
  // space are seen there too: for a model that has them, they are how such text is spelled.)
  std::vector<Stretch> split(std::string_view text, std::string_view marks, bool parse_special) const;

 private:
  struct Node {
    std::int32_t token = -1;                                  // index in tokens_
    std::vector<std::pair<std::uint8_t, std::int32_t>> next;  // ascending by byte
  };
  struct Found {
    std::int32_t token;
    std::size_t end;
  };
  std::int32_t child(std::int32_t node, std::uint8_t byte) const;
  Found longest_at(std::string_view text, std::string_view marks, std::size_t pos) const;

  std::vector<Node> nodes_;
  std::array<std::int32_t, 256> first_{};  // the root's children
  std::vector<AddedToken> tokens_;
  std::vector<bool> white_;  // beside tokens_: white space only, not special
};

}  // namespace hearth
