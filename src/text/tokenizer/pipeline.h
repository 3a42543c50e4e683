// pipeline.h — the one Tokenizer: added tokens, normaliser, pre-tokeniser, model, decoder, each chosen by the file.
//
//   text ─ added tokens ─┬─ token ─────────────────────────────────────────────────────────────► ids
//                        └─ stretch ─ normalise ─ added tokens that want it ─ pre-tokenise ─ model ─► ids
//
// Seams     text of the request is hidden from both searches for added tokens and from nothing else: pieces and
//           characters form across its borders as in plain text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "text/tokenizer.h"
#include "text/tokenizer/added_tokens.h"
#include "text/tokenizer/normalizer.h"
#include "text/tokenizer/pre_tokenizer.h"
#include "text/tokenizer/token_decoder.h"
#include "text/tokenizer/token_model.h"

namespace hearth {

// Ids are dense in every real vocabulary; the bound keeps a broken file from asking for gigabytes. The largest known
// vocabulary has 262,144 tokens.
inline constexpr std::int32_t kMaxTokenId = 2'000'000;

struct PipelineParts {
  std::vector<std::string> spellings;  // by id; empty: no such token
  std::vector<AddedToken> added;       // ids in spellings
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::unique_ptr<TokenModel> model;
  TokenDecoder decoder;
  bool decode_added = true;                 // added tokens pass the decoder too
  std::vector<std::int32_t> before, after;  // with add_special
  std::optional<std::int32_t> bos, eos, pad;
};

std::unique_ptr<Tokenizer> make_pipeline(PipelineParts parts);

}  // namespace hearth
