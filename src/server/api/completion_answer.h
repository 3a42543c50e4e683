// completion_answer.h — how a completion is said: one object, or a stream whose chunks interleave by index.
#pragma once

#include <memory>

#include "server/api/answer_parts.h"
#include "server/api/completion_request.h"

namespace hearth {

std::unique_ptr<Answer> make_completion_answer(const ServerState& state, ExchangePtr exchange, AnswerHead head,
                                               CompletionRequest request);

}  // namespace hearth
