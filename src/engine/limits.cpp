#include "engine/limits.h"

#include <algorithm>
#include <string>

#include "base/check.h"

namespace hearth {
namespace {

void require(bool good, const std::string& what, const char* where, const char* hint) {
  if (!good) throw StartupError(what, where, hint, 2);
}

}  // namespace

void check_config(const EngineConfig& c, const RunnerInfo& r) {
  require(c.max_model_len >= 1 && c.max_num_seqs >= 1 && c.max_num_batched_tokens >= 1,
          "the limits of the engine must be positive", "--max-model-len", "give numbers of at least 1");
  require(c.max_num_batched_tokens >= c.max_num_seqs,
          "max_num_batched_tokens " + std::to_string(c.max_num_batched_tokens) + " is less than max_num_seqs " +
              std::to_string(c.max_num_seqs),
          "--max-num-batched-tokens",
          "each running sequence takes a token of every step: raise it, or lower --max-num-seqs");
  require(c.enable_chunked_prefill || c.max_num_batched_tokens >= c.max_model_len,
          "max_num_batched_tokens " + std::to_string(c.max_num_batched_tokens) + " is less than max_model_len " +
              std::to_string(c.max_model_len) + " and chunked prefill is off",
          "--max-num-batched-tokens", "a whole prompt must fit one step: raise it, or leave chunked prefill on");
  require(c.long_prefill_token_threshold >= 0 && c.long_prefill_token_threshold <= c.max_model_len,
          "long_prefill_token_threshold " + std::to_string(c.long_prefill_token_threshold) +
              " is not in 0 … max_model_len " + std::to_string(c.max_model_len),
          "--long-prefill-token-threshold", "0 turns it off");
  HEARTH_CHECK_LE(c.max_num_batched_tokens, r.max_batch_tokens);
  HEARTH_CHECK_LE(c.max_num_seqs, r.max_seqs);
  HEARTH_CHECK(r.max_logit_rows == 0 || r.max_logit_rows >= r.max_seqs);
}

Status check_request(const Request& request, const EngineConfig& config, const RunnerInfo& info) {
  const auto num_prompt = static_cast<std::int64_t>(request.prompt.size());
  if (num_prompt == 0) return invalid_argument("the prompt has no tokens; at least one is needed", "prompt");
  for (const std::int32_t id : request.prompt)
    if (id < 0 || id >= info.vocab_size)
      return invalid_argument(
          "token id " + std::to_string(id) + " is not in the vocabulary of " + std::to_string(info.vocab_size),
          "prompt");
  if (request.n < 1) return invalid_argument("n is " + std::to_string(request.n) + "; it must be at least 1", "n");
  if (request.max_tokens < 0)
    return invalid_argument("max_tokens is " + std::to_string(request.max_tokens) + "; it must not be negative",
                            "max_tokens");
  const std::int64_t longest_prompt = config.max_model_len - (request.max_tokens > 0 ? 1 : 0);
  if (num_prompt > longest_prompt)
    return invalid_argument("the prompt has " + std::to_string(num_prompt) + " tokens and max_model_len is " +
                                std::to_string(config.max_model_len) + ", which leaves room for at most " +
                                std::to_string(longest_prompt),
                            "prompt");
  // The last token of a choice is never run, so its position needs no place.
  const std::int64_t most = std::min<std::int64_t>(num_prompt + std::max(0, request.max_tokens - 1),
                                                   std::max<std::int64_t>(num_prompt, config.max_model_len - 1));
  if (const std::int64_t needed = (most + info.block_tokens - 1) / info.block_tokens; needed > info.num_blocks)
    return invalid_argument("prompt and max_tokens need " + std::to_string(needed) + " cache blocks of " +
                                std::to_string(info.block_tokens) + " tokens, and the cache has " +
                                std::to_string(info.num_blocks),
                            "max_tokens");
  return {};
}

}  // namespace hearth
