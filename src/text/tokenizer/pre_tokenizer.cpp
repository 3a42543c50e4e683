#include "text/tokenizer/pre_tokenizer.h"

#include "text/tokenizer/byte_alphabet.h"
#include "text/utf8.h"

namespace hearth {
namespace {

struct Part {
  ByteRange range;
  bool match;
};

class Split final : public PreTokenizerStep {
 public:
  Split(std::optional<Regex> pattern, std::string literal, SplitBehavior behavior, bool invert)
      : pattern_(std::move(pattern)), literal_(std::move(literal)), behavior_(behavior), invert_(invert) {}

  void apply(Pieces& pieces) const override {
    std::vector<ByteRange> out;
    out.reserve(pieces.ranges.size());
    std::vector<Part> parts;
    for (const ByteRange& piece : pieces.ranges) {
      parts.clear();
      find_parts(std::string_view(pieces.text).substr(piece.begin, piece.size()), parts);
      append(piece.begin, parts, out);
    }
    pieces.ranges = std::move(out);
  }

 private:
  std::optional<ByteRange> next(std::string_view text, std::size_t from) const {
    if (pattern_) return pattern_->find(text, from);
    const std::size_t at = literal_.empty() ? std::string_view::npos : text.find(literal_, from);
    if (at == std::string_view::npos) return std::nullopt;
    return ByteRange{at, at + literal_.size()};
  }

  // Matches and what lies between them. An empty match cuts, but not where the last match ended.
  void find_parts(std::string_view text, std::vector<Part>& parts) const {
    std::size_t done = 0, from = 0;
    std::optional<std::size_t> last_end;
    while (from <= text.size()) {
      const std::optional<ByteRange> match = next(text, from);
      if (!match) break;
      if (match->size() == 0 && last_end == match->end) {
        from = match->end + (match->end < text.size() ? utf8_step(text, match->end).size : 1u);
        continue;
      }
      if (done < match->begin) parts.push_back({{done, match->begin}, invert_});
      parts.push_back({*match, !invert_});
      done = from = match->end;
      last_end = match->end;
    }
    if (done < text.size()) parts.push_back({{done, text.size()}, invert_});
  }

  void append(std::size_t offset, const std::vector<Part>& parts, std::vector<ByteRange>& out) const {
    const auto put = [&](ByteRange r) {
      if (r.size() > 0) out.push_back({offset + r.begin, offset + r.end});
    };
    if (behavior_ == SplitBehavior::isolated || behavior_ == SplitBehavior::removed) {
      for (const Part& part : parts)
        if (behavior_ == SplitBehavior::isolated || !part.match) put(part.range);
      return;
    }
    // Runs of parts that stay together.
    for (std::size_t i = 0; i < parts.size();) {
      std::size_t end = i + 1;
      if (behavior_ == SplitBehavior::contiguous)
        while (end < parts.size() && parts[end].match == parts[i].match) ++end;
      else if (behavior_ == SplitBehavior::merged_with_previous && !parts[i].match)
        end += end < parts.size() && parts[end].match ? 1u : 0u;
      else if (behavior_ == SplitBehavior::merged_with_next && parts[i].match)
        end += end < parts.size() && !parts[end].match ? 1u : 0u;
      put({parts[i].range.begin, parts[end - 1].range.end});
      i = end;
    }
  }

  std::optional<Regex> pattern_;
  std::string literal_;
  SplitBehavior behavior_;
  bool invert_;
};

// Writes the text anew, piece by piece.
template <class Piece>
void rewrite(Pieces& pieces, Piece piece) {
  Pieces made;
  made.at_start = pieces.at_start;
  made.text.reserve(pieces.text.size() + pieces.ranges.size());
  for (const ByteRange& range : pieces.ranges) {
    const std::size_t begin = made.text.size();
    piece(std::string_view(pieces.text).substr(range.begin, range.size()), range.begin, made.text);
    made.ranges.push_back({begin, made.text.size()});
  }
  pieces = std::move(made);
}

class PrefixSpace final : public PreTokenizerStep {
 public:
  void apply(Pieces& pieces) const override {
    rewrite(pieces, [](std::string_view piece, std::size_t, std::string& out) {
      if (!piece.starts_with(' ')) out.push_back(' ');
      out.append(piece);
    });
  }
};

class ByteLetters final : public PreTokenizerStep {
 public:
  void apply(Pieces& pieces) const override {
    rewrite(pieces, [](std::string_view piece, std::size_t, std::string& out) { out.append(to_byte_letters(piece)); });
  }
};

class Metaspace final : public PreTokenizerStep {
 public:
  Metaspace(std::string replacement, PrependScheme prepend) : replacement_(std::move(replacement)), prepend_(prepend) {}

  void apply(Pieces& pieces) const override {
    const bool at_start = pieces.at_start;
    rewrite(pieces, [&](std::string_view piece, std::size_t begin, std::string& out) {
      const bool wanted =
          prepend_ == PrependScheme::always || (prepend_ == PrependScheme::first && at_start && begin == 0);
      if (wanted && !piece.starts_with(' ') && !piece.starts_with(replacement_)) out.append(replacement_);
      for (const char c : piece) {
        if (c == ' ')
          out.append(replacement_);
        else
          out.push_back(c);
      }
    });
  }

 private:
  std::string replacement_;
  PrependScheme prepend_;
};

class Both final : public PreTokenizerStep {
 public:
  Both(std::unique_ptr<PreTokenizerStep> a, std::unique_ptr<PreTokenizerStep> b) : a_(std::move(a)), b_(std::move(b)) {}
  void apply(Pieces& pieces) const override {
    a_->apply(pieces);
    b_->apply(pieces);
  }

 private:
  std::unique_ptr<PreTokenizerStep> a_, b_;
};

}  // namespace

std::unique_ptr<PreTokenizerStep> make_split(Regex pattern, SplitBehavior behavior, bool invert) {
  return std::make_unique<Split>(std::move(pattern), std::string(), behavior, invert);
}
std::unique_ptr<PreTokenizerStep> make_literal_split(std::string literal, SplitBehavior behavior, bool invert) {
  return std::make_unique<Split>(std::nullopt, std::move(literal), behavior, invert);
}
std::unique_ptr<PreTokenizerStep> make_prefix_space() { return std::make_unique<PrefixSpace>(); }
std::unique_ptr<PreTokenizerStep> make_byte_letters() { return std::make_unique<ByteLetters>(); }
std::unique_ptr<PreTokenizerStep> make_metaspace(std::string replacement, PrependScheme prepend, bool split) {
  auto write = std::make_unique<Metaspace>(replacement, prepend);
  if (!split) return write;
  return std::make_unique<Both>(std::move(write),
                                make_literal_split(std::move(replacement), SplitBehavior::merged_with_next, false));
}

}  // namespace hearth
