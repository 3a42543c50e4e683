// chat_answer.h — how a chat answer is said: one object, or a stream of chunks.
#pragma once

#include <memory>

#include "server/api/answer_parts.h"
#include "server/api/chat_request.h"

namespace hearth {

std::unique_ptr<Answer> make_chat_answer(const ServerState& state, ExchangePtr exchange, AnswerHead head,
                                         const ChatRequest& request);

}  // namespace hearth
