#include "text/tokenizer/pipeline.h"

#include <algorithm>
#include <unordered_map>

#include "text/utf8.h"

namespace hearth {
namespace {

// Symbols have 32-bit offsets (token_model.h). No request comes near: a longer text is cut here, between characters.
constexpr std::size_t kMaxPieceBytes = std::size_t{1} << 30;

class Pipeline final : public Tokenizer {
 public:
  explicit Pipeline(PipelineParts parts)
      : p_(std::move(parts)), flags_(p_.spellings.size()), bytes_(p_.spellings.size()) {
    for (const AddedToken& token : p_.added) {
      const auto i = static_cast<std::size_t>(token.id);
      flags_[i].added = true;
      flags_[i].special = flags_[i].special || token.special;
      if (!token.normalized) {
        raw_.insert(token.content, token);
        continue;
      }
      NormalText spelling{token.content, {}};
      normalize(p_.normalizer, spelling);
      normalized_.insert(spelling.text, token);
    }
    index_.reserve(p_.spellings.size());
    for (std::size_t i = 0; i < p_.spellings.size(); ++i) {
      if (p_.spellings[i].empty()) continue;
      index_[p_.spellings[i]] = static_cast<std::int32_t>(i);
      bytes_[i] = flags_[i].added && !p_.decode_added ? p_.spellings[i] : p_.decoder.bytes(p_.spellings[i]);
      vocab_size_ = static_cast<std::int32_t>(i) + 1;
    }
  }

  std::vector<std::int32_t> encode(std::string_view text, Options options) const override {
    return encode_marked(text, {}, options);
  }

  std::vector<std::int32_t> encode(const MarkedText& text, bool add_special) const override {
    std::string marks(text.text.size(), '\0');
    for (const MarkedText::Span& span : text.from_request) {
      const std::size_t end = std::min(span.end, marks.size());
      if (span.begin < end) marks.replace(span.begin, end - span.begin, end - span.begin, '\1');
    }
    return encode_marked(text.text, marks, {.add_special = add_special, .parse_special = true});
  }

  std::int32_t vocab_size() const override { return vocab_size_; }
  bool is_special(std::int32_t id) const override { return known(id) && flags_[static_cast<std::size_t>(id)].special; }
  bool is_added(std::int32_t id) const override { return known(id) && flags_[static_cast<std::size_t>(id)].added; }
  std::string_view bytes(std::int32_t id) const override {
    return known(id) ? std::string_view(bytes_[static_cast<std::size_t>(id)]) : std::string_view();
  }
  std::string_view spelling(std::int32_t id) const override {
    return known(id) ? std::string_view(p_.spellings[static_cast<std::size_t>(id)]) : std::string_view();
  }
  std::optional<std::int32_t> id_of(std::string_view token) const override {
    const auto it = index_.find(token);
    return it == index_.end() ? std::nullopt : std::optional(it->second);
  }
  std::string_view leading_strip() const override {
    return p_.decoder.strip_count > 0 ? p_.decoder.strip : std::string_view();
  }

  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const override {
    std::string all;
    for (const std::int32_t id : ids)
      if (!(skip_special && is_special(id))) all.append(bytes(id));
    return to_utf8(strip_token(std::move(all), p_.decoder.strip, p_.decoder.strip_count, 0));
  }

  std::optional<std::int32_t> bos_id() const override { return p_.bos; }
  std::optional<std::int32_t> eos_id() const override { return p_.eos; }
  std::optional<std::int32_t> pad_id() const override { return p_.pad; }

 private:
  struct Flags {
    bool added = false, special = false;
  };

  bool known(std::int32_t id) const { return id >= 0 && static_cast<std::size_t>(id) < p_.spellings.size(); }

  std::vector<std::int32_t> encode_marked(std::string_view text, std::string_view marks, Options options) const {
    if (!is_utf8(text)) return encode_broken(text, marks, options);
    std::vector<std::int32_t> ids;
    if (options.add_special) ids = p_.before;
    for (const Stretch& s : raw_.split(text, marks, options.parse_special)) {
      if (s.id >= 0)
        ids.push_back(s.id);
      else
        encode_stretch(text.substr(s.begin, s.end - s.begin),
                       marks.empty() ? marks : marks.substr(s.begin, s.end - s.begin), s.begin == 0, options, ids);
    }
    if (options.add_special) ids.insert(ids.end(), p_.after.begin(), p_.after.end());
    return ids;
  }

  // Broken parts become U+FFFD first; nothing later has to think of them.
  std::vector<std::int32_t> encode_broken(std::string_view text, std::string_view marks, Options options) const {
    std::string whole, whole_marks;
    for (std::size_t pos = 0; pos < text.size();) {
      const Utf8Step step = utf8_step(text, pos);
      if (step.kind == Utf8Kind::whole)
        whole.append(text.substr(pos, step.size));
      else
        append_utf8(whole, 0xFFFD);
      if (!marks.empty())
        whole_marks.resize(whole.size(),
                           marks.substr(pos, step.size).find('\1') == std::string_view::npos ? '\0' : '\1');
      pos += step.size;
    }
    return encode_marked(whole, whole_marks, options);
  }

  void encode_stretch(std::string_view text, std::string_view marks, bool at_start, Options options,
                      std::vector<std::int32_t>& ids) const {
    NormalText normal{std::string(text), normalized_.empty() ? std::string() : std::string(marks)};
    normalize(p_.normalizer, normal);
    if (normalized_.empty()) return encode_text(std::move(normal.text), at_start, ids);
    for (const Stretch& s : normalized_.split(normal.text, normal.marks, options.parse_special)) {
      if (s.id >= 0)
        ids.push_back(s.id);
      else
        encode_text(normal.text.substr(s.begin, s.end - s.begin), at_start && s.begin == 0, ids);
    }
  }

  void encode_text(std::string text, bool at_start, std::vector<std::int32_t>& ids) const {
    Pieces pieces;
    pieces.text = std::move(text);
    pieces.at_start = at_start;
    for (std::size_t begin = 0, end = 0; begin < pieces.text.size(); begin = end) {
      end = std::min(begin + kMaxPieceBytes, pieces.text.size());
      while (end < pieces.text.size() && (static_cast<std::uint8_t>(pieces.text[end]) & 0xC0) == 0x80) --end;
      pieces.ranges.push_back({begin, end});
    }
    for (const auto& step : p_.pre_tokenizer) step->apply(pieces);
    for (const ByteRange& r : pieces.ranges)
      p_.model->encode(std::string_view(pieces.text).substr(r.begin, r.size()), ids);
  }

  PipelineParts p_;
  std::vector<Flags> flags_;
  std::vector<std::string> bytes_;
  AddedTokens raw_, normalized_;
  std::unordered_map<std::string_view, std::int32_t> index_;  // views into p_.spellings
  std::int32_t vocab_size_ = 0;
};

}  // namespace

std::unique_ptr<Tokenizer> make_pipeline(PipelineParts parts) { return std::make_unique<Pipeline>(std::move(parts)); }

}  // namespace hearth
