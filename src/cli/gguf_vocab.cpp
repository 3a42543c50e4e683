#include "cli/gguf_vocab.h"

#include "base/log.h"
#include "base/status.h"

namespace hearth {
namespace {

std::optional<std::int32_t> token_id(const GgufFile& file, const char* key, std::size_t num_tokens) {
  const std::optional<std::int64_t> id = file.get_int(key);
  if (!id) return std::nullopt;
  if (*id >= 0 && static_cast<std::uint64_t>(*id) < num_tokens) return static_cast<std::int32_t>(*id);
  log_warning("{}: {} is {}, but the vocabulary has {} tokens; it counts as absent", file.path(), key, *id, num_tokens);
  return std::nullopt;
}

}  // namespace

GgufVocab read_gguf_vocab(const GgufFile& file) {
  GgufVocab v;
  v.model = file.need_string("tokenizer.ggml.model");
  v.pre = file.get_string("tokenizer.ggml.pre").value_or("");
  std::optional<std::vector<std::string>> tokens = file.get_strings("tokenizer.ggml.tokens");
  if (!tokens)
    throw StartupError("the list of tokens is missing", file.path() + ": tokenizer.ggml.tokens",
                       "the file was converted without its vocabulary; convert it again");
  v.tokens = *std::move(tokens);
  if (const auto scores = file.get_doubles("tokenizer.ggml.scores"))
    for (const double score : *scores) v.scores.push_back(static_cast<float>(score));
  if (const auto types = file.get_ints("tokenizer.ggml.token_type"))
    for (const std::int64_t type : *types) v.types.push_back(static_cast<std::int32_t>(type));
  v.merges = file.get_strings("tokenizer.ggml.merges").value_or(std::vector<std::string>());
  v.bos = token_id(file, "tokenizer.ggml.bos_token_id", v.tokens.size());
  v.eos = token_id(file, "tokenizer.ggml.eos_token_id", v.tokens.size());
  v.unk = token_id(file, "tokenizer.ggml.unknown_token_id", v.tokens.size());
  v.pad = token_id(file, "tokenizer.ggml.padding_token_id", v.tokens.size());
  v.eot = token_id(file, "tokenizer.ggml.eot_token_id", v.tokens.size());
  v.add_bos = file.get_bool("tokenizer.ggml.add_bos_token");
  v.add_eos = file.get_bool("tokenizer.ggml.add_eos_token");
  v.add_space_prefix = file.get_bool("tokenizer.ggml.add_space_prefix");
  return v;
}

}  // namespace hearth
