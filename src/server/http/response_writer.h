// response_writer.h — the bytes of a response: status line, headers, chunks.
#pragma once

#include <string>
#include <string_view>

#include "server/http/message.h"

namespace hearth {

enum class BodyFraming { content_length, chunked, until_close };

// keep_alive: what will be done, not what was asked. HEAD gives the headers of the answer that GET would get.
std::string response_head(const HttpResponse& response, BodyFraming framing, bool keep_alive);
std::string chunk(std::string_view piece);  // one chunk of a chunked body
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

}  // namespace hearth
