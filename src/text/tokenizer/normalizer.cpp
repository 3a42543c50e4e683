#include "text/tokenizer/normalizer.h"

#include "text/tokenizer/byte_alphabet.h"
#include "text/utf8.h"

namespace hearth {
namespace {

// Builds the new text beside the old one. take(): the next `size` bytes of the old text became `now`.
class Rewriter {
 public:
  explicit Rewriter(NormalText& text) : old_(text) { made_.text.reserve(text.text.size() + 8); }
  ~Rewriter() { old_ = std::move(made_); }
  Rewriter(const Rewriter&) = delete;
  Rewriter& operator=(const Rewriter&) = delete;

  const std::string& text() const { return old_.text; }
  void keep(std::size_t size) {
    made_.text.append(old_.text, pos_, size);
    if (!old_.marks.empty()) made_.marks.append(old_.marks, pos_, size);
    pos_ += size;
  }
  void take(std::size_t size, std::string_view now) {
    made_.text.append(now);
    if (!old_.marks.empty())
      made_.marks.append(now.size(), any_marked(std::string_view(old_.marks).substr(pos_, size)) ? '\1' : '\0');
    pos_ += size;
  }
  void keep_rest() { keep(old_.text.size() - pos_); }

 private:
  NormalText& old_;
  NormalText made_;
  std::size_t pos_ = 0;
};

class Replace final : public NormalizerStep {
 public:
  Replace(std::string literal, std::string content) : literal_(std::move(literal)), content_(std::move(content)) {}
  Replace(Regex pattern, std::string content) : pattern_(std::move(pattern)), content_(std::move(content)) {}

  void apply(NormalText& text) const override {
    Rewriter to(text);
    std::size_t done = 0;
    for (std::size_t from = 0; from <= to.text().size();) {
      const std::optional<ByteRange> match = next(to.text(), from);
      if (!match) break;
      to.keep(match->begin - done);
      to.take(match->size(), content_);
      done = match->end;
      from = match->size() > 0 ? done : done + (done < to.text().size() ? utf8_step(to.text(), done).size : 1u);
    }
    to.keep_rest();
  }

 private:
  std::optional<ByteRange> next(const std::string& text, std::size_t from) const {
    if (pattern_) return pattern_->find(text, from);
    const std::size_t at = literal_.empty() ? std::string::npos : text.find(literal_, from);
    if (at == std::string::npos) return std::nullopt;
    return ByteRange{at, at + literal_.size()};
  }

  std::optional<Regex> pattern_;
  std::string literal_, content_;
};

class Prepend final : public NormalizerStep {
 public:
  explicit Prepend(std::string prefix) : prefix_(std::move(prefix)) {}
  void apply(NormalText& text) const override {
    if (text.text.empty()) return;
    if (!text.marks.empty()) text.marks.insert(0, prefix_.size(), '\0');
    text.text.insert(0, prefix_);
  }

 private:
  std::string prefix_;
};

class Strip final : public NormalizerStep {
 public:
  Strip(bool left, bool right) : left_(left), right_(right) {}
  void apply(NormalText& text) const override {
    const std::string& s = text.text;
    std::size_t begin = 0, end = s.size();
    while (left_ && begin < end) {
      const Utf8Step step = utf8_step(s, begin);
      if (!is_white_space(step.code)) break;
      begin += step.size;
    }
    while (right_ && end > begin) {
      std::size_t at = end - 1;
      while (at > begin && (static_cast<std::uint8_t>(s[at]) & 0xC0) == 0x80) --at;
      if (!is_white_space(utf8_step(s, at).code)) break;
      end = at;
    }
    if (!text.marks.empty()) text.marks = text.marks.substr(begin, end - begin);
    text.text = text.text.substr(begin, end - begin);
  }

 private:
  bool left_, right_;
};

class ByteAlphabet final : public NormalizerStep {
 public:
  void apply(NormalText& text) const override {
    Rewriter to(text);
    std::string letter;
    for (std::size_t i = 0; i < to.text().size(); ++i) {
      letter.clear();
      append_utf8(letter, byte_letter(static_cast<std::uint8_t>(to.text()[i])));
      to.take(1, letter);
    }
  }
};

}  // namespace

void normalize(const Normalizer& steps, NormalText& text) {
  for (const auto& step : steps) step->apply(text);
}

std::unique_ptr<NormalizerStep> make_replace(std::string literal, std::string content) {
  return std::make_unique<Replace>(std::move(literal), std::move(content));
}
std::unique_ptr<NormalizerStep> make_replace(Regex pattern, std::string content) {
  return std::make_unique<Replace>(std::move(pattern), std::move(content));
}
std::unique_ptr<NormalizerStep> make_prepend(std::string prefix) {
  return std::make_unique<Prepend>(std::move(prefix));
}
std::unique_ptr<NormalizerStep> make_strip(bool left, bool right) { return std::make_unique<Strip>(left, right); }
std::unique_ptr<NormalizerStep> make_byte_alphabet() { return std::make_unique<ByteAlphabet>(); }

}  // namespace hearth
