// pre_tokenizer.h — cuts normalised text into the pieces within which tokens may form.
//
// Threads   const from any thread.
// Cost      linear in the text for patterns that are.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/regex.h"

namespace hearth {

struct Pieces {
  std::string text;
  std::vector<ByteRange> ranges;  // ascending, none empty
  bool at_start = true;           // the text begins where the whole prompt begins
};

class PreTokenizerStep {
 public:
  virtual ~PreTokenizerStep() = default;
  virtual void apply(Pieces& pieces) const = 0;
};

using PreTokenizer = std::vector<std::unique_ptr<PreTokenizerStep>>;

// What becomes of a match and of the text between two, in Hugging Face's words.
enum class SplitBehavior { removed, isolated, merged_with_previous, merged_with_next, contiguous };

// invert: the text between matches counts as the match.
std::unique_ptr<PreTokenizerStep> make_split(Regex pattern, SplitBehavior behavior, bool invert);
std::unique_ptr<PreTokenizerStep> make_literal_split(std::string literal, SplitBehavior behavior, bool invert);
// A space before each piece that has none.
std::unique_ptr<PreTokenizerStep> make_prefix_space();
// Each byte becomes its printable stand-in (byte_alphabet.h).
std::unique_ptr<PreTokenizerStep> make_byte_letters();
// Spaces become `replacement`; a piece gets one in front always, never, or only at the start of the prompt.
enum class PrependScheme { always, never, first };
std::unique_ptr<PreTokenizerStep> make_metaspace(std::string replacement, PrependScheme prepend, bool split);

// GPT-2's pattern, which "ByteLevel" means unless told otherwise.
inline constexpr const char* kGpt2Pattern =
    "'s|'t|'re|'ve|'m|'ll|'d| ?\\p{L}+| ?\\p{N}+| ?[^\\s\\p{L}\\p{N}]+|\\s+(?!\\S)|\\s+";

}  // namespace hearth
