// errors.h — the one mapping from what went wrong to an HTTP status and an error body, in the dialect of the path.
//
// Dialects  /api/* and /: Ollama; /v1/messages*: Anthropic; every other path: OpenAI.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "server/http/message.h"

namespace hearth {

enum class Dialect { openai, anthropic, ollama };
Dialect dialect_of(std::string_view path);

int http_status(Code code);
// The word that the OpenAI body carries as `type`.
std::string_view error_type(Code code);

// {"error": {"message", "type", "param", "code"}}
Json openai_error(const Status& status);
Json error_body(Dialect dialect, int http, std::string_view type, const std::string& message, const std::string& param);

HttpResponse error_response(std::string_view path, const Status& status);
// For what has no Status: routes, protocol errors. The type is the status phrase.
HttpResponse error_response(std::string_view path, int http, const std::string& message);

}  // namespace hearth
