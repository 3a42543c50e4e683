// from_json.h — JSON of a request or of the server's files as values of the template.
#pragma once

#include "base/json.h"
#include "text/jinja/value.h"

namespace hearth::jinja {

enum class Origin {
  server,    // no marks
  request,   // every string and key is marked
  messages,  // as request, but a "role" that is one of the known roles is not: templates write it into their own tags
};

Value from_json(const Json& json, Origin origin);

}  // namespace hearth::jinja
