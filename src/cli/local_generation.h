// local_generation.h — one request on an engine of this process: text as it comes, and what it took.
//
// Threads   the caller waits here; the engine's thread hands tokens over.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "engine/engine.h"
#include "text/tokenizer.h"

namespace hearth {

struct Generated {
  FinishReason finish = FinishReason::none;
  Status error;
  int num_prompt_tokens = 0;
  int num_tokens = 0;
  // As the engine computed them, not as they were read: from its first step to the first token, and on to the last.
  double prompt_seconds = 0, answer_seconds = 0;
};

// parameters: temperature, top_p, top_k, min_p, repetition_penalty, presence_penalty, frequency_penalty, seed,
// num_predict (or max_tokens), stop (a string or a list). interrupted: set by a signal handler; the answer then ends.
Generated generate(Engine& engine, const Tokenizer& tokenizer, std::vector<std::int32_t> prompt,
                   const std::vector<std::int32_t>& eos_token_ids, const Json& parameters,
                   const std::function<void(std::string_view)>& on_text, const std::atomic<bool>& interrupted);

// Checks and converts one `/set parameter` value; invalid_argument says what was expected.
Result<Json> parse_parameter(std::string_view name, const std::string& text);

}  // namespace hearth
