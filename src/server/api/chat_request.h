// chat_request.h — the body of /v1/chat/completions, checked, merged with the server's defaults, and rendered to tokens.
#pragma once

#include "server/api/chat_prompt.h"
#include "server/api/generation_params.h"

namespace hearth {

struct ServerState;

struct ChatRequest {
  std::shared_ptr<ServedModel> model;
  GenerationParams params;
  ChatPrompt prompt;
  int max_tokens = 0;
  bool logprobs = false;
  int top_logprobs = 0;
  std::string role;       // of the answer
  std::string echo_text;  // what `echo` puts first
};

const FieldTable* chat_fields();

// body stays with the caller (its request_id); nulls are dropped and values coerced in it.
Result<ChatRequest> read_chat_request(const ServerState& state, Json& body);

}  // namespace hearth
