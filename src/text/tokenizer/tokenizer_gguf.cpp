// A tokenizer from GGUF metadata: "gpt2" is byte-level BPE, "llama" is SentencePiece BPE by score.
#include <fmt/format.h>

#include <cmath>

#include "base/log.h"
#include "base/status.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/gguf_pre_tokenizers.h"
#include "text/tokenizer/pipeline.h"
#include "text/utf8.h"

namespace hearth {
namespace {

enum TokenType : std::int32_t { kNormal = 1, kUnknown = 2, kControl = 3, kUserDefined = 4, kUnused = 5, kByte = 6 };

constexpr const char* kLowerOneEighth = "\xE2\x96\x81";  // U+2581, SentencePiece's space

[[noreturn]] void fail(const std::string& what, const char* key) {
  throw StartupError(what, key,
                     "the GGUF file's tokenizer can't be used; convert the model again or use its safetensors");
}

std::int32_t type_of(const GgufVocab& v, std::size_t i) { return i < v.types.size() ? v.types[i] : kNormal; }

// Spellings and added tokens, the same for both models.
PipelineParts common_parts(const GgufVocab& v) {
  if (v.tokens.empty()) fail("tokenizer: the list of tokens is empty", "tokenizer.ggml.tokens");
  if (v.tokens.size() > static_cast<std::size_t>(kMaxTokenId))
    fail(fmt::format("tokenizer: {} tokens; at most {} are offered", v.tokens.size(), kMaxTokenId),
         "tokenizer.ggml.tokens");
  if (!v.types.empty() && v.types.size() != v.tokens.size())
    fail(fmt::format("tokenizer: {} types for {} tokens", v.types.size(), v.tokens.size()),
         "tokenizer.ggml.token_type");
  PipelineParts parts;
  parts.decode_added = false;
  parts.spellings.resize(v.tokens.size());
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    const std::int32_t type = type_of(v, i);
    if (type == kUnused) continue;  // rows that pad the embedding
    parts.spellings[i] = to_utf8(v.tokens[i]);
    if (type != kControl && type != kUserDefined && type != kUnknown) continue;
    AddedToken token;
    token.id = static_cast<std::int32_t>(i);
    token.content = parts.spellings[i];
    token.special = type != kUserDefined;
    parts.added.push_back(std::move(token));
  }
  return parts;
}

void check_id(const GgufVocab& v, std::optional<std::int32_t> id, const char* key) {
  if (id && (*id < 0 || static_cast<std::size_t>(*id) >= v.tokens.size()))
    fail(fmt::format("tokenizer: {} is no token id (0 … {})", *id, v.tokens.size() - 1), key);
}

void set_ends(const GgufVocab& v, bool add_bos, bool add_eos, PipelineParts& parts) {
  check_id(v, v.bos, "tokenizer.ggml.bos_token_id");
  check_id(v, v.eos, "tokenizer.ggml.eos_token_id");
  check_id(v, v.pad, "tokenizer.ggml.padding_token_id");
  check_id(v, v.unk, "tokenizer.ggml.unknown_token_id");
  parts.bos = v.bos;
  parts.eos = v.eos;
  parts.pad = v.pad;
  if (v.add_bos.value_or(add_bos) && parts.bos) parts.before.push_back(*parts.bos);
  if (v.add_eos.value_or(add_eos) && parts.eos) parts.after.push_back(*parts.eos);
}

std::unique_ptr<Tokenizer> make_gpt2(const GgufVocab& v) {
  const std::string name = v.pre.empty() ? "default" : v.pre;
  if (v.pre.empty())
    log_warning("tokenizer: the GGUF file names no pre-tokenizer; \"default\" is taken, which may not fit the model");
  const GgufPreTokenizer* pre = find_gguf_pre_tokenizer(name);
  if (!pre) {
    std::string known;
    for (const GgufPreTokenizer& row : gguf_pre_tokenizers())
      for (const std::string_view n : row.names) known.append(known.empty() ? "" : ", ").append(n);
    fail(fmt::format("tokenizer: the pre-tokenizer \"{}\" is not known; known are {}", name, known),
         "tokenizer.ggml.pre");
  }
  PipelineParts parts = common_parts(v);
  if (pre->nfc) parts.normalizer.push_back(make_unicode_form({.compose = true, .compatible = false}));
  for (const char* pattern : pre->patterns)
    parts.pre_tokenizer.push_back(make_split(Regex(pattern), SplitBehavior::isolated, false));
  parts.decoder.steps.emplace_back(decode_byte_letters);

  BpeParts bpe;
  bpe.byte_symbols = true;
  bpe.ignore_merges = pre->ignore_merges;
  std::vector<std::string> bytes;
  bytes.reserve(v.tokens.size());
  TextIndex ids;
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    if (type_of(v, i) != kNormal) continue;
    std::optional<std::string> raw = from_byte_letters(v.tokens[i]);
    if (!raw || raw->empty()) continue;
    bytes.push_back(*std::move(raw));
    bpe.vocab.push_back({static_cast<std::int32_t>(i), bytes.back()});
    ids[v.tokens[i]] = static_cast<std::int32_t>(i);
  }
  std::size_t dropped = 0;
  for (const std::string& merge : v.merges) {
    const std::size_t space = merge.find(' ');
    const std::string left = merge.substr(0, space), right = space == std::string::npos ? "" : merge.substr(space + 1);
    const auto a = ids.find(left), b = ids.find(right), made = ids.find(left + right);
    if (a == ids.end() || b == ids.end() || made == ids.end())
      ++dropped;
    else
      bpe.merges.push_back({a->second, b->second, made->second});
  }
  if (bpe.merges.empty()) fail("tokenizer: no usable merges", "tokenizer.ggml.merges");
  if (dropped > 0)
    log_warning("tokenizer: {} of {} merges name tokens that the vocabulary lacks and are left out", dropped,
                v.merges.size());
  parts.model = make_bpe(bpe);
  set_ends(v, pre->add_bos, false, parts);
  return make_pipeline(std::move(parts));
}

std::unique_ptr<Tokenizer> make_llama(GgufVocab v) {
  if (v.scores.size() != v.tokens.size())
    fail(fmt::format("tokenizer: {} scores for {} tokens", v.scores.size(), v.tokens.size()), "tokenizer.ggml.scores");
  PipelineParts parts = common_parts(v);
  const bool prefix = v.add_space_prefix.value_or(true);
  if (prefix) parts.normalizer.push_back(make_prepend(" "));
  parts.normalizer.push_back(make_replace(" ", kLowerOneEighth));
  parts.decoder.steps.emplace_back(decode_byte_fallback);
  parts.decoder.steps.emplace_back([](std::string t) { return replace_all(std::move(t), kLowerOneEighth, " "); });
  if (prefix) {
    parts.decoder.strip = " ";
    parts.decoder.strip_count = 1;
  }

  SpmParts spm;
  spm.bytes.fill(-1);
  for (std::size_t i = 0; i < v.tokens.size(); ++i) {
    const std::string& text = v.tokens[i];
    const auto id = static_cast<std::int32_t>(i);
    if (std::isnan(v.scores[i]))
      fail(fmt::format("tokenizer: the score of token {} is not a number", i), "tokenizer.ggml.scores");
    if (type_of(v, i) == kByte) {
      const std::string byte = decode_byte_fallback(text);
      if (byte.size() == 1) spm.bytes[static_cast<std::uint8_t>(byte[0])] = id;
    } else if (type_of(v, i) == kNormal && !text.empty() && is_utf8(text)) {
      spm.vocab.push_back({id, text});
      spm.scores.push_back(v.scores[i]);
    }
  }
  // What SentencePiece gives these three when a file names none.
  const auto given = [&](std::optional<std::int32_t>& id, std::int32_t usual) {
    if (!id && v.tokens.size() > 2) id = usual;
  };
  given(v.unk, 0);
  given(v.bos, 1);
  given(v.eos, 2);
  spm.unk = v.unk;
  parts.model = make_spm(spm);
  set_ends(v, true, false, parts);
  return make_pipeline(std::move(parts));
}

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(const GgufVocab& vocab) {
  if (vocab.model == "gpt2") return make_gpt2(vocab);
  if (vocab.model == "llama") return make_llama(vocab);
  fail(fmt::format("tokenizer: the model \"{}\" is not offered; expected gpt2 or llama", vocab.model),
       "tokenizer.ggml.model");
}

}  // namespace hearth
