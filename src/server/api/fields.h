// fields.h — what a JSON body may hold, as a table: one row a field, from which bodies are checked and /openapi.json is written.
//
// Rules     null = absent. Unknown fields are ignored. A number written as a string, a whole number written 5.0 and a boolean
//           written "true" are taken for what they say. Wrong type: `malformed`, param "body.<field>"; out of range or refused:
//           `invalid_argument`, param "<field>".
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "server/http/message.h"

namespace hearth {

enum class FieldType { boolean, integer, number, string, object, array, any };

enum class FieldUse {
  read,      // changes the answer
  accepted,  // other servers read it; nothing here depends on it
  refused,   // would change the answer and is not offered: 400
};

struct FieldSpec {
  std::string name;
  FieldType type = FieldType::any;
  FieldUse use = FieldUse::read;
  std::string doc;        // of a refused field: why, as the client reads it
  std::string test = {};  // of a read field: the test that observes its effect in the running program
  double min = -std::numeric_limits<double>::infinity();
  double max = std::numeric_limits<double>::infinity();
  bool required = false;
};

struct FieldTable {
  std::string name;
  std::vector<FieldSpec> fields;
  const FieldSpec* find(std::string_view name) const;
};

FieldTable join(std::string name, std::vector<std::vector<FieldSpec>> parts);

// The body of a request as a JSON object: media type, UTF-8, depth, number of values, shape.
Result<Json> read_json_body(const HttpRequest& request);

// Drops nulls, checks each known field, writes coerced values back. The first failure wins, in the order of the table.
Status check_fields(Json& body, const FieldTable& table);

// Of a checked body.
const Json* field(const Json& body, std::string_view name);
bool flag(const Json& body, std::string_view name, bool otherwise = false);
std::optional<std::int64_t> integer(const Json& body, std::string_view name);
std::optional<double> number(const Json& body, std::string_view name);
std::string text(const Json& body, std::string_view name);

// [1, 2, 3] of ids in [0, limit); otherwise malformed or invalid_argument naming the field.
Result<std::vector<std::int32_t>> token_ids(const Json& value, std::string_view name, std::int32_t limit);

}  // namespace hearth
