// completion_request.h — the body of /v1/completions: one prompt or many, as text or as token ids.
#pragma once

#include "server/api/generation_params.h"

namespace hearth {

struct ServerState;

struct CompletionRequest {
  std::shared_ptr<ServedModel> model;
  GenerationParams params;
  std::vector<std::vector<std::int32_t>> prompts;
  std::vector<std::string> prompt_texts;  // what `echo` repeats
  std::vector<int> max_tokens;
  bool own_prompt_logprobs = false;  // asked for by name, not only for echo
  int logprobs = -1;                 // -1: none
};

const FieldTable* completion_fields();
Result<CompletionRequest> read_completion_request(const ServerState& state, Json& body);

}  // namespace hearth
