#include <fmt/format.h>

#include "base/rng.h"
#include "text/tokenizer/merge.h"
#include "text/tokenizer/token_model.h"
#include "text/utf8.h"

namespace hearth {
namespace {

// (left, right) → merge; open addressing, at most half full.
class PairTable {
 public:
  explicit PairTable(const std::vector<MergeRule>& rules) {
    std::size_t size = 16;
    while (size < rules.size() * 2) size *= 2;
    mask_ = size - 1;
    slots_.resize(size);
    std::uint32_t rank = 0;
    for (const MergeRule& rule : rules) {
      Slot& slot = slots_[place(key(rule.left, rule.right))];
      // A pair that is listed twice takes the later place, as in Hugging Face's loader.
      slot = {key(rule.left, rule.right), {rank++, rule.made}};
    }
  }
  Merge find(std::int32_t left, std::int32_t right) const { return slots_[place(key(left, right))].merge; }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t key = kFree;
    Merge merge;
  };
  static std::uint64_t key(std::int32_t left, std::int32_t right) {
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32 | static_cast<std::uint32_t>(right);
  }
  std::size_t place(std::uint64_t k) const {
    std::size_t i = mix64(k) & mask_;
    while (slots_[i].key != k && slots_[i].key != kFree) i = (i + 1) & mask_;
    return i;
  }

  std::size_t mask_ = 0;
  std::vector<Slot> slots_;
};

class BpeModel final : public TokenModel {
 public:
  explicit BpeModel(const BpeParts& parts)
      : merges_(parts.merges),
        byte_symbols_(parts.byte_symbols),
        ignore_merges_(parts.ignore_merges),
        fuse_unk_(parts.fuse_unk),
        unk_(parts.unk) {
    bytes_.fill(-1);
    for (const TokenText& token : parts.vocab) {
      const bool whole_character = !token.text.empty() && utf8_step(token.text, 0).size == token.text.size();
      if (byte_symbols_ ? ignore_merges_ : ignore_merges_ || whole_character)
        texts_[std::string(token.text)] = token.id;
      if (byte_symbols_ && token.text.size() == 1) bytes_[static_cast<std::uint8_t>(token.text[0])] = token.id;
    }
    if (byte_symbols_ || !parts.byte_fallback) return;
    const TextIndex spellings = [&] {
      TextIndex index;
      for (const TokenText& token : parts.vocab)
        if (token.text.size() == 6 && token.text.starts_with("<0x")) index[std::string(token.text)] = token.id;
      return index;
    }();
    for (int b = 0; b < 256; ++b)
      if (const auto it = spellings.find(fmt::format("<0x{:02X}>", b)); it != spellings.end())
        bytes_[static_cast<std::size_t>(b)] = it->second;
  }

  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override {
    if (ignore_merges_)
      if (const auto it = texts_.find(piece); it != texts_.end()) {
        ids.push_back(it->second);
        return;
      }
    static thread_local std::vector<Symbol> symbols;
    symbols.clear();
    if (byte_symbols_)
      split_bytes(piece, symbols);
    else
      split_characters(piece, symbols);
    merge_symbols(symbols, [this](const Symbol& a, const Symbol& b) { return merges_.find(a.id, b.id); });
    for (const Symbol& s : symbols) ids.push_back(s.id);
    drop_if_large(symbols);
  }

 private:
  void split_bytes(std::string_view piece, std::vector<Symbol>& symbols) const {
    bool after_unknown = false;
    for (std::uint32_t i = 0; i < piece.size(); ++i) {
      const std::int32_t id = bytes_[static_cast<std::uint8_t>(piece[i])];
      if (id >= 0)
        symbols.push_back({id, i, 1});
      else
        put_unknown(i, 1, after_unknown, symbols);
      after_unknown = id < 0;
    }
  }

  void split_characters(std::string_view piece, std::vector<Symbol>& symbols) const {
    bool after_unknown = false;
    for (std::uint32_t i = 0; i < piece.size();) {
      const std::uint32_t size = utf8_step(piece, i).size;
      const std::string_view character = piece.substr(i, size);
      const auto it = texts_.find(character);
      bool unknown = false;
      if (it != texts_.end()) {
        symbols.push_back({it->second, i, size});
      } else if (has_bytes(character)) {
        for (std::uint32_t b = 0; b < size; ++b)
          symbols.push_back({bytes_[static_cast<std::uint8_t>(character[b])], i + b, 1});
      } else {
        put_unknown(i, size, after_unknown, symbols);
        unknown = true;
      }
      after_unknown = unknown;
      i += size;
    }
  }

  bool has_bytes(std::string_view character) const {
    for (const char c : character)
      if (bytes_[static_cast<std::uint8_t>(c)] < 0) return false;
    return true;
  }

  void put_unknown(std::uint32_t begin, std::uint32_t size, bool after_unknown, std::vector<Symbol>& symbols) const {
    if (!unk_) return;
    if (after_unknown && fuse_unk_)
      symbols.back().size += size;
    else
      symbols.push_back({*unk_, begin, size});
  }

  PairTable merges_;
  bool byte_symbols_, ignore_merges_, fuse_unk_;
  std::optional<std::int32_t> unk_;
  std::array<std::int32_t, 256> bytes_{};  // a byte's own token, or its <0xAB>
  TextIndex texts_;                        // characters; whole tokens too when ignore_merges_
};

}  // namespace

std::unique_ptr<TokenModel> make_bpe(const BpeParts& parts) { return std::make_unique<BpeModel>(parts); }

}  // namespace hearth
