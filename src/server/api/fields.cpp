#include "server/api/fields.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

namespace hearth {
namespace {

constexpr double kExactInteger = 9007199254740992.0;  // 2^53

std::string_view type_name(FieldType type) {
  switch (type) {
    case FieldType::boolean:
      return "a boolean";
    case FieldType::integer:
      return "an integer";
    case FieldType::number:
      return "a number";
    case FieldType::string:
      return "a string";
    case FieldType::object:
      return "an object";
    case FieldType::array:
      return "an array";
    case FieldType::any:
      return "any value";
  }
  return "";
}

template <class T>
std::optional<T> whole_number(const std::string& text) {
  T value{};
  const char* end = text.data() + text.size();
  const auto [p, ec] = std::from_chars(text.data(), end, value);
  if (ec != std::errc() || p != end || text.empty()) return std::nullopt;
  return value;
}

bool coerce_boolean(Json& v) {
  if (v.is_boolean()) return true;
  if (v.is_number_integer() && (v == 0 || v == 1)) return v = (v == 1), true;
  if (!v.is_string()) return false;
  const auto& s = v.get_ref<const std::string&>();
  if (equals_ignoring_case(s, "true")) return v = true, true;
  if (equals_ignoring_case(s, "false")) return v = false, true;
  return false;
}

bool coerce_integer(Json& v) {
  if (v.is_number_unsigned())
    return v.get<std::uint64_t>() <= static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (v.is_number_integer()) return true;
  if (v.is_number_float()) {
    const double d = v.get<double>();
    if (d != std::floor(d) || std::abs(d) > kExactInteger) return false;
    v = static_cast<std::int64_t>(d);
    return true;
  }
  if (!v.is_string()) return false;
  const auto n = whole_number<std::int64_t>(v.get_ref<const std::string&>());
  if (n) v = *n;
  return n.has_value();
}

bool coerce_number(Json& v) {
  if (v.is_number()) return true;
  if (!v.is_string()) return false;
  const auto d = whole_number<double>(v.get_ref<const std::string&>());
  if (!d || !std::isfinite(*d)) return false;
  v = *d;
  return true;
}

bool has_type(Json& v, FieldType type) {
  switch (type) {
    case FieldType::boolean:
      return coerce_boolean(v);
    case FieldType::integer:
      return coerce_integer(v);
    case FieldType::number:
      return coerce_number(v);
    case FieldType::string:
      return v.is_string();
    case FieldType::object:
      return v.is_object();
    case FieldType::array:
      return v.is_array();
    case FieldType::any:
      return true;
  }
  return false;
}

// Each becomes tens of bytes, whatever it is. Enough for prompts of four million token ids in one request.
constexpr std::size_t kMostValues = std::size_t{1} << 22;

// At most so many values does the text hold: each but the first comes after one of these.
bool has_too_many_values(std::string_view json) {
  std::size_t count = 1;
  bool in_string = false;
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (c == '\\' && in_string)
      ++i;
    else if (c == '"')
      in_string = !in_string;
    else if (!in_string && (c == ',' || c == '[' || c == '{'))
      ++count;
  }
  return count > kMostValues;
}

// Is a refused field asking for nothing? false, "", [], {} and 0 change no result.
bool asks_nothing(const Json& v) {
  return (v.is_boolean() && !v.get<bool>()) || (v.is_number() && v == 0) ||
         ((v.is_array() || v.is_string()) && v.empty());
}

// Absent and null are the same. In one go: erasing members one by one would move the rest each time.
void drop_nulls(Json& object) {
  auto& members = object.get_ref<Json::object_t&>();
  Json::object_t kept;
  kept.reserve(members.size());
  for (auto& [key, value] : members)
    if (!value.is_null()) kept.emplace_back(key, std::move(value));
  members = std::move(kept);
}

Status out_of_range(const FieldSpec& f, const Json& v) {
  std::string bounds;
  const bool above_zero = f.min == std::numeric_limits<double>::min();
  if (above_zero)
    bounds = f.max < std::numeric_limits<double>::max() ? fmt::format("in (0, {}]", f.max) : "above 0";
  else if (std::isinf(f.max))
    bounds = fmt::format("at least {}", f.min);
  else if (std::isinf(f.min))
    bounds = fmt::format("at most {}", f.max);
  else
    bounds = fmt::format("in [{}, {}]", f.min, f.max);
  return invalid_argument(fmt::format("{} must be {}, got {}", f.name, bounds, v.dump()), f.name);
}

}  // namespace

const FieldSpec* FieldTable::find(std::string_view wanted) const {
  for (const FieldSpec& f : fields)
    if (f.name == wanted) return &f;
  return nullptr;
}

FieldTable join(std::string name, std::vector<std::vector<FieldSpec>> parts) {
  FieldTable table{std::move(name), {}};
  for (auto& part : parts)
    for (auto& f : part) table.fields.push_back(std::move(f));
  return table;
}

Result<Json> read_json_body(const HttpRequest& request) {
  std::string_view media = request.headers.get("content-type");
  media = media.substr(0, media.find(';'));
  while (!media.empty() && media.back() == ' ') media.remove_suffix(1);
  const bool json = equals_ignoring_case(media, "application/json") ||
                    (media.size() > 17 && equals_ignoring_case(media.substr(0, 12), "application/") &&
                     equals_ignoring_case(media.substr(media.size() - 5), "+json"));
  if (!json)
    return malformed(fmt::format("the Content-Type must be application/json, got '{}'", media), "content-type");
  if (has_too_many_values(request.body))
    return invalid_argument(fmt::format("the body holds more than {} JSON values", kMostValues), "body");
  Result<Json> body = parse_json(request.body);
  if (!body) return malformed(body.status().message, "body");
  if (!body->is_object())
    return malformed(fmt::format("the body must be a JSON object, got {}", body->type_name()), "body");
  return body;
}

Status check_fields(Json& body, const FieldTable& table) {
  drop_nulls(body);
  for (const FieldSpec& f : table.fields) {
    const auto found = body.find(f.name);
    if (found == body.end()) {
      if (f.required) return malformed(f.name + " is required", "body." + f.name);
      continue;
    }
    Json& value = found.value();
    if (f.use == FieldUse::refused) {
      if (!asks_nothing(value)) return {Code::unimplemented, f.name + ": " + f.doc, f.name};
      continue;
    }
    if (f.use == FieldUse::accepted) continue;
    if (!has_type(value, f.type))
      return malformed(fmt::format("{} must be {}, got {} {}", f.name, type_name(f.type), value.type_name(),
                                   value.is_primitive() ? dump_json(value).substr(0, 100) : ""),
                       "body." + f.name);
    if (value.is_number() && (value.get<double>() < f.min || value.get<double>() > f.max))
      return out_of_range(f, value);
  }
  return {};
}

const Json* field(const Json& body, std::string_view name) {
  const auto found = body.find(name);
  return found == body.end() || found->is_null() ? nullptr : &*found;
}

bool flag(const Json& body, std::string_view name, bool otherwise) {
  const Json* v = field(body, name);
  return v && v->is_boolean() ? v->get<bool>() : otherwise;
}

std::optional<std::int64_t> integer(const Json& body, std::string_view name) {
  const Json* v = field(body, name);
  if (!v || !v->is_number_integer()) return std::nullopt;
  return v->get<std::int64_t>();
}

std::optional<double> number(const Json& body, std::string_view name) {
  const Json* v = field(body, name);
  if (!v || !v->is_number()) return std::nullopt;
  return v->get<double>();
}

std::string text(const Json& body, std::string_view name) {
  const Json* v = field(body, name);
  return v && v->is_string() ? v->get<std::string>() : std::string();
}

Result<std::vector<std::int32_t>> token_ids(const Json& value, std::string_view name, std::int32_t limit) {
  if (!value.is_array())
    return malformed(fmt::format("{} must be an array of token ids", name), fmt::format("body.{}", name));
  std::vector<std::int32_t> ids;
  ids.reserve(value.size());
  for (std::size_t i = 0; i < value.size(); ++i) {
    if (!value[i].is_number_integer())
      return malformed(fmt::format("{}[{}] must be an integer, got {}", name, i, value[i].type_name()),
                       fmt::format("body.{}.{}", name, i));
    const bool fits = value[i].is_number_unsigned()
                          ? value[i].get<std::uint64_t>() < static_cast<std::uint64_t>(limit)
                          : value[i].get<std::int64_t>() >= 0 && value[i].get<std::int64_t>() < limit;
    if (!fits)
      return invalid_argument(
          fmt::format("{}[{}]: token id {} is out of vocabulary (0 to {})", name, i, value[i].dump(), limit - 1),
          std::string(name));
    ids.push_back(value[i].get<std::int32_t>());
  }
  return ids;
}

}  // namespace hearth
