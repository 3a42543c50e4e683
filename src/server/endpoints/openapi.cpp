// /openapi.json: the routes and the fields of their bodies, written from the tables that the server itself checks with.
#include "server/api/answer_parts.h"
#include "server/http/endpoint_def.h"

#include <cmath>

namespace hearth {
namespace {

const char* json_type(FieldType type) {
  switch (type) {
    case FieldType::boolean:
      return "boolean";
    case FieldType::integer:
      return "integer";
    case FieldType::number:
      return "number";
    case FieldType::string:
      return "string";
    case FieldType::object:
      return "object";
    case FieldType::array:
      return "array";
    case FieldType::any:
      return nullptr;
  }
  return nullptr;
}

Json property(const FieldSpec& f) {
  Json p = Json::object();
  if (const char* type = json_type(f.type); type && f.use == FieldUse::read) {
    p["type"] = type;
    if (f.type == FieldType::array) p["items"] = Json::object();
    if (std::isfinite(f.min)) p["minimum"] = f.min;
    if (std::isfinite(f.max)) p["maximum"] = f.max;
  }
  p["description"] = f.use == FieldUse::refused    ? "Refused with 400: " + f.doc
                     : f.use == FieldUse::accepted ? "Accepted, changes nothing: " + f.doc
                                                   : f.doc;
  return p;
}

Json body_schema(const FieldTable& table) {
  Json properties = Json::object(), required = Json::array();
  for (const FieldSpec& f : table.fields) {
    properties[f.name] = property(f);
    if (f.required) required.push_back(f.name);
  }
  Json schema = {{"type", "object"}, {"properties", std::move(properties)}};
  if (!required.empty()) schema["required"] = std::move(required);
  return schema;
}

Json operation(const Route& route) {
  Json op = {{"summary", route.summary}, {"responses", {{"200", {{"description", "the answer"}}}}}};
  if (route.fields)
    op["requestBody"] = {{"required", true},
                         {"content", {{"application/json", {{"schema", body_schema(*route.fields())}}}}}};
  if (route.pattern.find("{id") != std::string::npos)
    op["parameters"] =
        Json::array({{{"name", "id"}, {"in", "path"}, {"required", true}, {"schema", {{"type", "string"}}}}});
  return op;
}

void openapi(ServerState& state, const ExchangePtr& exchange) {
  Json paths = Json::object();
  for (const Route& route : state.router->routes()) {
    std::string path = route.pattern;
    if (const std::size_t dots = path.find("...}"); dots != std::string::npos) path.erase(dots, 3);
    std::string method = route.method;
    for (char& c : method) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    paths[path][method] = operation(route);
  }
  respond_json(exchange, {{"openapi", "3.1.0"},
                          {"info", {{"title", "hearth"}, {"version", state.config().engine_version}}},
                          {"paths", std::move(paths)}});
}

void add_routes(Router& router) { router.add({"GET", "/openapi.json", Weight::light, openapi, "this document"}); }

}  // namespace

extern const EndpointDef endpoints_openapi;
const EndpointDef endpoints_openapi{"openapi", add_routes};

}  // namespace hearth
