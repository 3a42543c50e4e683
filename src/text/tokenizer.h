// tokenizer.h — text to token ids and back. Byte-level BPE and SentencePiece BPE, from tokenizer.json or from GGUF metadata.
//
// Threads   const methods from any thread.
// Errors    the factories throw StartupError naming the file, the part of it and what was expected.
// Order     added tokens are cut out of the raw text first; the rest is normalised (NFC where the file says so), split by the
//           pre-tokeniser's pattern, and merged by rank, lowest first, leftmost first.
// Source    Hugging Face tokenizers' file format; llama.cpp's names for GGUF pre-tokenisers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/marked_text.h"

namespace hearth {

// tokenizer.ggml.* metadata of a GGUF file, by value.
struct GgufVocab {
  std::string model;  // "gpt2", "llama"
  std::string pre;    // "qwen2", "qwen35", "smollm", "llama-bpe", …
  std::vector<std::string> tokens;
  std::vector<float> scores;
  std::vector<std::int32_t> types;  // 1 normal, 2 unknown, 3 control, 4 user defined, 5 unused, 6 byte
  std::vector<std::string> merges;  // "a b"
  std::optional<std::int32_t> bos, eos, unk, pad, eot;
  std::optional<bool> add_bos, add_eos, add_space_prefix;
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  struct Options {
    bool add_special = false;   // BOS/EOS as the files ask
    bool parse_special = true;  // special-token spellings become their ids (else only non-special added tokens do)
  };
  virtual std::vector<std::int32_t> encode(std::string_view text, Options options) const = 0;
  // Spans from the request are encoded with no added token recognised in them (but those that are only white space); the
  // template's own text with all of them. Everything else is as if the text were whole: pieces cross the borders.
  virtual std::vector<std::int32_t> encode(const MarkedText& text, bool add_special) const = 0;

  virtual std::int32_t vocab_size() const = 0;         // ids 0 … vocab_size-1 that have text
  virtual bool is_special(std::int32_t id) const = 0;  // dropped by skip_special_tokens
  virtual bool is_added(std::int32_t id) const = 0;
  // The bytes a token adds to the output; empty for ids without text.
  virtual std::string_view bytes(std::int32_t id) const = 0;
  virtual std::optional<std::int32_t> id_of(std::string_view token) const = 0;  // by its spelling in the file
  virtual std::string_view spelling(std::int32_t id) const = 0;                 // as in the file ("Ġhello")
  // What a whole text drops once from its start (SentencePiece's space); empty for byte-level vocabularies.
  virtual std::string_view leading_strip() const = 0;
  // Whole text; bytes that are no UTF-8 become U+FFFD.
  virtual std::string decode(std::span<const std::int32_t> ids, bool skip_special) const = 0;
  virtual std::optional<std::int32_t> bos_id() const = 0;
  virtual std::optional<std::int32_t> eos_id() const = 0;  // the tokenizer's own; generation_config may name more
  virtual std::optional<std::int32_t> pad_id() const = 0;
};

// dir holds tokenizer.json and, if present, tokenizer_config.json.
std::unique_ptr<Tokenizer> load_tokenizer(const std::string& dir);
// The same from the files' text. config: "" for none; name: what errors call the place.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view tokenizer_json, std::string_view config,
                                          const std::string& name);
std::unique_ptr<Tokenizer> make_tokenizer(const GgufVocab& vocab);

}  // namespace hearth
