// normalizer.h — what a tokenizer does to text before it is split: Unicode forms, replacements, prefixes.
//
// Marks     text may carry one byte for each of its own ("came from the request"); every step keeps them true: a character
//           made of marked and unmarked ones is marked.
// Threads   const from any thread.
// Cost      O(n log n), whatever the text (a million combining marks too).
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "text/regex.h"

namespace hearth {

struct NormalText {
  std::string text;
  std::string marks;  // empty, or as long as text
};
inline bool any_marked(std::string_view marks) { return marks.find('\1') != std::string_view::npos; }

class NormalizerStep {
 public:
  virtual ~NormalizerStep() = default;
  virtual void apply(NormalText& text) const = 0;
};

using Normalizer = std::vector<std::unique_ptr<NormalizerStep>>;
void normalize(const Normalizer& steps, NormalText& text);

struct UnicodeForm {
  bool compose, compatible;  // NFC {1,0}  NFD {0,0}  NFKC {1,1}  NFKD {0,1}
};
std::unique_ptr<NormalizerStep> make_unicode_form(UnicodeForm form);
// Every match of the literal, or of the pattern, becomes `content`.
std::unique_ptr<NormalizerStep> make_replace(std::string literal, std::string content);
std::unique_ptr<NormalizerStep> make_replace(Regex pattern, std::string content);
// Put before a text that is not empty.
std::unique_ptr<NormalizerStep> make_prepend(std::string prefix);
// White space at the ends.
std::unique_ptr<NormalizerStep> make_strip(bool left, bool right);
// Each byte becomes its printable stand-in (byte_alphabet.h).
std::unique_ptr<NormalizerStep> make_byte_alphabet();

}  // namespace hearth
