// chat_prompt.h — messages to token ids: the rules before the template, the template, the tokenizer. Shared by chat, its
// render endpoint and /tokenize.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "server/api/fields.h"
#include "server/api/generation_params.h"
#include "server/service.h"

namespace hearth {

struct ChatPrompt {
  std::string text;  // as rendered
  std::vector<std::int32_t> ids;
};

// messages, tools, documents, add_generation_prompt, continue_final_message, add_special_tokens, chat_template,
// chat_template_kwargs, reasoning_effort, reasoning, enable_thinking, thinking.
std::vector<FieldSpec> chat_prompt_fields();

// body: checked against a table that holds chat_prompt_fields(). to_fit: a prompt too long for it is refused untokenised.
Result<ChatPrompt> make_chat_prompt(const Json& body, const ServedModel& model, const ServerConfig& config,
                                    const GenerationParams* to_fit = nullptr);

}  // namespace hearth
