#include <algorithm>
#include <numeric>

#include "text/tokenizer/merge.h"
#include "text/tokenizer/token_model.h"
#include "text/utf8.h"

namespace hearth {
namespace {

class SpmModel final : public TokenModel {
 public:
  explicit SpmModel(const SpmParts& parts) : bytes_(parts.bytes), unk_(parts.unk) {
    // Scores become ranks, so that merging is the same loop as everywhere; equal scores share one.
    std::vector<std::size_t> order(parts.vocab.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return parts.scores[a] > parts.scores[b]; });
    texts_.reserve(parts.vocab.size());
    std::uint32_t rank = 0;
    for (std::size_t i = 0; i < order.size(); ++i) {
      const TokenText& token = parts.vocab[order[i]];
      if (i > 0 && parts.scores[order[i]] != parts.scores[order[i - 1]]) ++rank;
      longest_ = std::max(longest_, token.text.size());
      texts_.insert_or_assign(std::string(token.text), Merge{rank, token.id});
    }
  }

  void encode(std::string_view piece, std::vector<std::int32_t>& ids) const override {
    static thread_local std::vector<Symbol> symbols;
    symbols.clear();
    for (std::uint32_t i = 0; i < piece.size();) {
      const std::uint32_t size = utf8_step(piece, i).size;
      symbols.push_back({find(piece.substr(i, size)).id, i, size});
      i += size;
    }
    merge_symbols(symbols,
                  [&](const Symbol& a, const Symbol& b) { return find(piece.substr(a.begin, a.size + b.size)); });
    for (const Symbol& s : symbols) {
      if (s.id >= 0)
        ids.push_back(s.id);
      else
        put_bytes(piece.substr(s.begin, s.size), ids);
    }
    drop_if_large(symbols);
  }

 private:
  Merge find(std::string_view text) const {
    if (text.size() > longest_) return {};
    const auto it = texts_.find(text);
    return it == texts_.end() ? Merge{} : it->second;
  }

  void put_bytes(std::string_view text, std::vector<std::int32_t>& ids) const {
    const std::size_t before = ids.size();
    for (const char c : text) {
      const std::int32_t id = bytes_[static_cast<std::uint8_t>(c)];
      if (id >= 0) {
        ids.push_back(id);
        continue;
      }
      ids.resize(before);
      if (unk_) ids.push_back(*unk_);
      return;
    }
  }

  std::unordered_map<std::string, Merge, TextHash, std::equal_to<>> texts_;
  std::size_t longest_ = 0;
  std::array<std::int32_t, 256> bytes_;
  std::optional<std::int32_t> unk_;
};

}  // namespace

std::unique_ptr<TokenModel> make_spm(const SpmParts& parts) { return std::make_unique<SpmModel>(parts); }

}  // namespace hearth
