#include "checkpoint/hf_config.h"

#include <fmt/format.h>

#include <cmath>

#include "base/status.h"

namespace hearth {
namespace {

const Json& need(const Json& config, std::string_view key, const char* expected) {
  const Json* v = find_key(config, key);
  if (v == nullptr) config_error(key, expected, "nothing");
  return *v;
}

std::int64_t as_int(const Json& v, std::string_view key) {
  if (v.is_number_unsigned() && v.get<std::uint64_t>() > static_cast<std::uint64_t>(INT64_MAX))
    config_error(key, "an integer of 64 bits", dump_json(v));
  if (v.is_number_integer()) return v.get<std::int64_t>();
  if (v.is_number_float()) {
    const double d = v.get<double>();  // some files write 1e6 or 10000.0
    if (d == std::floor(d) && std::fabs(d) < 0x1p53) return static_cast<std::int64_t>(d);
  }
  config_error(key, "an integer", dump_json(v));
}

std::int64_t as_count(const Json& v, std::string_view key) {
  const std::int64_t n = as_int(v, key);
  if (n < 1 || n > INT32_MAX) config_error(key, "a number from 1 to 2147483647", std::to_string(n));
  return n;
}

double as_double(const Json& v, std::string_view key) {
  if (!v.is_number()) config_error(key, "a number", dump_json(v));
  return v.get<double>();
}

std::string as_string(const Json& v, std::string_view key) {
  if (!v.is_string()) config_error(key, "a string", dump_json(v));
  return v.get<std::string>();
}

}  // namespace

void config_error(std::string_view key, const std::string& expected, const std::string& found) {
  throw StartupError(fmt::format("expected {}, found {}", expected, found), fmt::format("config.json: {}", key),
                     "the configuration does not fit this model; compare it with the model's original files");
}

const Json* find_key(const Json& config, std::string_view key) {
  if (!config.is_object()) return nullptr;
  const auto it = config.find(key);
  return it == config.end() || it->is_null() ? nullptr : &*it;
}

const Json& text_config(const Json& config) {
  const Json* text = find_key(config, "text_config");
  if (text == nullptr) return config;
  if (!text->is_object()) config_error("text_config", "an object", dump_json(*text));
  return *text;
}

std::int64_t get_int(const Json& config, std::string_view key) { return as_int(need(config, key, "an integer"), key); }
std::int64_t get_int(const Json& config, std::string_view key, std::int64_t fallback) {
  const Json* v = find_key(config, key);
  return v == nullptr ? fallback : as_int(*v, key);
}

std::int64_t get_count(const Json& config, std::string_view key) {
  return as_count(need(config, key, "a number from 1 to 2147483647"), key);
}
std::int64_t get_count(const Json& config, std::string_view key, std::int64_t fallback) {
  const Json* v = find_key(config, key);
  return v == nullptr ? fallback : as_count(*v, key);
}

double get_double(const Json& config, std::string_view key) { return as_double(need(config, key, "a number"), key); }
double get_double(const Json& config, std::string_view key, double fallback) {
  const Json* v = find_key(config, key);
  return v == nullptr ? fallback : as_double(*v, key);
}

bool get_bool(const Json& config, std::string_view key, bool fallback) {
  const Json* v = find_key(config, key);
  if (v == nullptr) return fallback;
  if (!v->is_boolean()) config_error(key, "true or false", dump_json(*v));
  return v->get<bool>();
}

std::string get_string(const Json& config, std::string_view key) {
  return as_string(need(config, key, "a string"), key);
}
std::string get_string(const Json& config, std::string_view key, std::string_view fallback) {
  const Json* v = find_key(config, key);
  return v == nullptr ? std::string(fallback) : as_string(*v, key);
}

std::int64_t get_num_experts(const Json& config) {
  return get_count(config, find_key(config, "num_local_experts") != nullptr ? "num_local_experts" : "num_experts");
}

Json rope_parameters(const Json& config) {
  Json rope = Json::object();
  const char* form = find_key(config, "rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  if (const Json* given = find_key(config, form)) {
    if (!given->is_object()) config_error(form, "an object", dump_json(*given));
    rope = *given;
  }
  if (find_key(rope, "rope_type") == nullptr) rope["rope_type"] = get_string(rope, "type", "default");
  if (find_key(rope, "rope_theta") == nullptr) rope["rope_theta"] = get_double(config, "rope_theta", 10000.0);
  if (find_key(rope, "partial_rotary_factor") == nullptr) {
    if (const Json* part = find_key(config, "partial_rotary_factor")) rope["partial_rotary_factor"] = *part;
  }
  return rope;
}

}  // namespace hearth
