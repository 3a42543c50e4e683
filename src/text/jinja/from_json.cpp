#include "text/jinja/from_json.h"

#include <algorithm>
#include <array>

namespace hearth::jinja {
namespace {

constexpr std::array<std::string_view, 4> kRoles = {"system", "user", "assistant", "tool"};

Value text(const std::string& s, Origin origin) { return Value(origin == Origin::server ? plain(s) : marked(s)); }

bool is_known_role(const std::string& key, const Json& value, Origin origin) {
  return origin == Origin::messages && key == "role" && value.is_string() &&
         std::find(kRoles.begin(), kRoles.end(), value.get_ref<const std::string&>()) != kRoles.end();
}

}  // namespace

Value from_json(const Json& json, Origin origin) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value(json.get<bool>());
    case Json::value_t::number_integer:
      return Value(static_cast<Int>(json.get<std::int64_t>()));
    case Json::value_t::number_unsigned:
      return Value(static_cast<Int>(json.get<std::uint64_t>()));
    case Json::value_t::number_float:
      return Value(json.get<double>());
    case Json::value_t::string:
      return text(json.get_ref<const std::string&>(), origin);
    case Json::value_t::array: {
      std::vector<Value> items;
      items.reserve(json.size());
      for (const Json& j : json) items.push_back(from_json(j, origin));
      return make_list(std::move(items));
    }
    case Json::value_t::object: {
      Dict d;
      for (const auto& [key, value] : json.items()) {
        const bool role = is_known_role(key, value, origin);
        d.set(text(key, origin), from_json(value, role ? Origin::server : origin));
      }
      return make_dict(std::move(d));
    }
    default:
      return Value();
  }
}

}  // namespace hearth::jinja
