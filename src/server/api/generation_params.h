// generation_params.h — the fields that chat and completions share: sampling, limits, streaming, what to return.
//
// Order     request value, else the model's generation-config default, else the built-in one. Ranges are checked by the table.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/sampling_params.h"
#include "server/api/fields.h"
#include "server/service.h"

namespace hearth {

struct GenerationParams {
  SamplingParams sampling;
  int n = 1;
  std::optional<std::int64_t> max_tokens;  // as asked
  std::vector<std::string> stop;
  bool include_stop = false, skip_special = true;
  bool stream = false, include_usage = false, continuous_usage = false;
  bool echo = false;
  bool return_token_ids = false, tokens_as_ids = false, return_prompt_text = false;
  int priority = 0;
  int stream_interval = 1;
};

std::vector<FieldSpec> generation_fields();

Result<GenerationParams> read_generation_params(const Json& body, const ServedModel& model, const ServerConfig& config);

// k of `logprobs`, `top_logprobs` or `prompt_logprobs`: ≤ the server's cap; -1 is everything, if the cap is -1.
Result<int> read_logprob_count(std::int64_t k, const char* name, const ServerConfig& config);

// A text that cannot fit, however few tokens it becomes, is refused before the work of tokenising it.
Status check_prompt_length(std::string_view prompt, const Json& body, const GenerationParams& params,
                           const ServedModel& model);

// Cuts the prompt as truncate_prompt_tokens and truncation_side say.
Status truncate_prompt(const Json& body, const GenerationParams& params, const ServedModel& model,
                       std::vector<std::int32_t>& ids);

// max_tokens for a prompt of that length: what was asked, else `otherwise`, else all that is left; checked against the context.
Result<int> resolve_max_tokens(const GenerationParams& params, std::optional<std::int64_t> otherwise,
                               std::size_t num_prompt_tokens, const ServedModel& model, const ServerConfig& config);

}  // namespace hearth
