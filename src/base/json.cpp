#include "base/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

namespace hearth {
namespace {

// Builds the value of a text in time that grows with its length. The library's own builder looks through all members of an
// object for each new one and copies them as the object grows.
class Builder final : public nlohmann::json_sax<Json> {
 public:
  Json value;
  std::string error;

  bool null() override { return put(nullptr); }
  bool boolean(bool v) override { return put(v); }
  bool number_integer(number_integer_t v) override { return put(v); }
  bool number_unsigned(number_unsigned_t v) override { return put(v); }
  bool number_float(number_float_t v, const string_t&) override { return put(v); }
  bool string(string_t& v) override { return put(std::move(v)); }
  bool binary(binary_t&) override { return false; }  // JSON text has none

  bool start_object(std::size_t) override { return open(); }
  bool start_array(std::size_t) override { return open(); }
  bool key(string_t& k) override {
    open_.back().key = std::move(k);
    return true;
  }
  bool end_object() override {
    Members members = std::move(open_.back().members);
    open_.pop_back();
    return put(object_of(members));
  }
  bool end_array() override {
    Json::array_t items = std::move(open_.back().items);
    open_.pop_back();
    return put(std::move(items));
  }

  bool parse_error(std::size_t byte, const std::string&, const nlohmann::detail::exception& e) override {
    error = dynamic_cast<const Json::parse_error*>(&e)
                ? fmt::format("invalid JSON at byte {}: {}", byte, reason(e.what()))
                : fmt::format("invalid JSON: {}", reason(e.what()));
    return false;
  }

 private:
  using Members = std::vector<std::pair<std::string, Json>>;
  struct Open {
    std::optional<std::string> key;  // of the member being read; an array has none
    Members members;
    Json::array_t items;
  };

  // "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error while …": the last part is for people.
  static std::string_view reason(std::string_view what) {
    if (const std::size_t at = what.find("] "); what.starts_with("[json.") && at != what.npos)
      what.remove_prefix(at + 2);
    if (const std::size_t at = what.find(": "); what.starts_with("parse error") && at != what.npos)
      what.remove_prefix(at + 2);
    return what;
  }

  bool open() {
    open_.emplace_back();
    return true;
  }

  bool put(Json v) {
    if (open_.empty())
      value = std::move(v);
    else if (Open& o = open_.back(); o.key)
      o.members.emplace_back(*std::exchange(o.key, std::nullopt), std::move(v));
    else
      o.items.push_back(std::move(v));
    return true;
  }

  // Of members with one name the last counts, in the place of the first.
  static Json object_of(Members& members) {
    std::vector<std::size_t> order(members.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return members[a].first < members[b].first; });
    std::vector<bool> repeated(members.size());
    for (std::size_t i = 1, first = 0; i < order.size(); ++i) {
      if (members[order[i]].first != members[order[first]].first) {
        first = i;
      } else {
        members[order[first]].second = std::move(members[order[i]].second);
        repeated[order[i]] = true;
      }
    }
    Json::object_t object;
    object.reserve(members.size());
    for (std::size_t i = 0; i < members.size(); ++i)
      if (!repeated[i]) object.emplace_back(std::move(members[i].first), std::move(members[i].second));
    return Json(std::move(object));
  }

  std::vector<Open> open_;
};

}  // namespace

Result<Json> parse_json(std::string_view text, int max_depth) {
  // Depth first, by a scan: the error says where, and nothing is built in vain.
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\')
        ++i;
      else if (c == '"')
        in_string = false;
    } else if (c == '"') {
      in_string = true;
    } else if (c == '[' || c == '{') {
      if (++depth > max_depth)
        return invalid_argument(fmt::format("JSON is nested deeper than {} levels (at byte {})", max_depth, i));
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  Builder builder;
  if (!Json::sax_parse(text, &builder)) return invalid_argument(builder.error);
  return std::move(builder.value);
}

std::string dump_json(const Json& value) { return value.dump(-1, ' ', false, Json::error_handler_t::replace); }

}  // namespace hearth
