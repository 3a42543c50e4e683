// token_model.h — a piece of text to token ids: byte-pair encoding by merge rank, or by SentencePiece's scores.
//
// Threads   const from any thread.
// Cost      O(n log n) in the piece's length.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hearth {

class TokenModel {
 public:
  virtual ~TokenModel() = default;
  virtual void encode(std::string_view piece, std::vector<std::int32_t>& ids) const = 0;
};

struct TokenText {
  std::int32_t id;
  std::string_view text;
};
struct MergeRule {
  std::int32_t left, right, made;
};

// Before    every view outlives the call that makes the model, not more.
struct BpeParts {
  // In raw bytes when byte_symbols is set (a symbol is a byte), else as spelled (a symbol is a character).
  std::vector<TokenText> vocab;
  std::vector<MergeRule> merges;  // by rank
  bool byte_symbols = false;
  bool ignore_merges = false;  // a piece that is a token is not taken apart
  bool byte_fallback = false;  // characters that are no token become <0xAB> tokens
  bool fuse_unk = false;
  std::optional<std::int32_t> unk;  // without one, what is no token vanishes
};
std::unique_ptr<TokenModel> make_bpe(const BpeParts& parts);

// Neighbours merge when together they are a token, best score first.
struct SpmParts {
  std::vector<TokenText> vocab;           // what text may become
  std::vector<float> scores;              // beside vocab
  std::array<std::int32_t, 256> bytes{};  // -1: no such token
  std::optional<std::int32_t> unk;
};
std::unique_ptr<TokenModel> make_spm(const SpmParts& parts);

// Keys of any string type, without copies.
struct TextHash {
  using is_transparent = void;
  std::size_t operator()(std::string_view s) const { return std::hash<std::string_view>{}(s); }
};
using TextIndex = std::unordered_map<std::string, std::int32_t, TextHash, std::equal_to<>>;

}  // namespace hearth
