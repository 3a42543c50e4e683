// messages.h — the text of a message's content parts; normalize_messages and normalize_tools are declared in chat_template.h.
#pragma once

#include <string>

#include "base/json.h"
#include "base/result.h"

namespace hearth {

struct MessageText {
  Json parts = Json::array();  // [{"type": "text", "text": …}, …]
  std::string reasoning;       // of thinking and reasoning parts
  bool has_reasoning = false;
  std::string joined() const;  // the texts, one a line
};

// content: string, null or array of parts. where names it in errors, as in "messages[2].content".
// Pictures, video and audio are refused: the model is served text only.
Result<MessageText> read_content(const Json& content, const std::string& where, bool is_assistant);

}  // namespace hearth
