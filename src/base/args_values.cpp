// args_values.cpp — option values as numbers, sizes and choices; the environment.
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "base/args.h"
#include "base/status.h"

namespace hearth {
namespace {

[[noreturn]] void bad_value(const std::string& option, const std::string& value, const std::string& expected) {
  throw StartupError(option + ": '" + value + "' is not " + expected, option, "give " + expected, 2);
}

std::optional<double> parse_double(std::string_view text) {
  double v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(v)) return std::nullopt;
  return v;
}

std::optional<std::int64_t> parse_int(std::string_view text) {
  if (text.size() > 1 && text[0] == '+') text.remove_prefix(1);
  std::int64_t v = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return v;
}

std::optional<std::int64_t> scaled(double v, double unit) {
  const double r = std::round(v * unit);
  if (!(std::abs(r) < 9.2e18)) return std::nullopt;
  return static_cast<std::int64_t>(r);
}

}  // namespace

std::optional<std::int64_t> parse_human_integer(std::string_view text) {
  if (text.empty()) return std::nullopt;
  const char last = text.back();
  static constexpr std::string_view kDecimal = "kmgt", kBinary = "KMGT";
  if (const std::size_t i = kDecimal.find(last); i != std::string_view::npos) {
    const std::optional<double> v = parse_double(text.substr(0, text.size() - 1));
    return v ? scaled(*v, std::pow(1000.0, static_cast<double>(i + 1))) : std::nullopt;
  }
  if (const std::size_t i = kBinary.find(last); i != std::string_view::npos) {
    const std::optional<std::int64_t> v = parse_int(text.substr(0, text.size() - 1));
    const int shift = 10 * static_cast<int>(i + 1);
    if (!v || std::abs(*v) > (std::numeric_limits<std::int64_t>::max() >> shift)) return std::nullopt;
    return *v * (std::int64_t{1} << shift);
  }
  return parse_int(text);
}

std::optional<std::int64_t> parse_size(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && (text[digits] == '.' || (text[digits] >= '0' && text[digits] <= '9'))) ++digits;
  const std::optional<double> v = parse_double(text.substr(0, digits));
  if (!v) return std::nullopt;
  std::string_view unit = text.substr(digits);
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (unit.empty() || unit == "B") return scaled(*v, 1);
  static constexpr std::string_view kUpper = "KMGT", kLower = "kmgt";
  std::size_t power = kUpper.find(unit[0]);
  if (power == std::string_view::npos) power = kLower.find(unit[0]);
  if (power == std::string_view::npos) return std::nullopt;
  const std::string_view tail = unit.substr(1);
  const bool binary = tail == "iB" || tail == "i" || tail.empty();
  if (!binary && tail != "B") return std::nullopt;
  return scaled(*v, std::pow(binary ? 1024.0 : 1000.0, static_cast<double>(power + 1)));
}

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) above[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[b.size()];
}

const OptionValue* ParsedArgs::find(std::string_view name) const {
  const auto it = options.find(name);
  return it == options.end() ? nullptr : &it->second;
}

bool ParsedArgs::on(std::string_view name, bool otherwise) const {
  const OptionValue* v = find(name);
  return v ? v->on : otherwise;
}

std::string ParsedArgs::text(std::string_view name, std::string_view otherwise) const {
  const OptionValue* v = find(name);
  return v && !v->values.empty() ? v->values.back() : std::string(otherwise);
}

std::vector<std::string> ParsedArgs::list(std::string_view name) const {
  const OptionValue* v = find(name);
  return v ? v->values : std::vector<std::string>{};
}

Json ParsedArgs::json(std::string_view name) const {
  const OptionValue* v = find(name);
  return v ? v->json : Json::object();
}

std::int64_t ParsedArgs::integer(std::string_view name, std::int64_t otherwise, std::int64_t min,
                                 std::int64_t max) const {
  const OptionValue* v = find(name);
  if (!v || v->values.empty()) return otherwise;
  const std::optional<std::int64_t> n = parse_int(v->values[0]);
  if (!n || *n < min || *n > max) {
    std::string expected = "a whole number";
    if (max == std::numeric_limits<std::int64_t>::max())
      expected += " of at least " + std::to_string(min);
    else
      expected += " from " + std::to_string(min) + " to " + std::to_string(max);
    bad_value("--" + std::string(name), v->values[0], expected);
  }
  return *n;
}

std::int64_t ParsedArgs::human_integer(std::string_view name, std::int64_t otherwise) const {
  const OptionValue* v = find(name);
  if (!v || v->values.empty()) return otherwise;
  const std::optional<std::int64_t> n = parse_human_integer(v->values[0]);
  if (!n)
    bad_value("--" + std::string(name), v->values[0], "a whole number such as 8192, 25.6k (25600) or 32K (32768)");
  return *n;
}

std::int64_t ParsedArgs::size(std::string_view name, std::int64_t otherwise) const {
  const OptionValue* v = find(name);
  if (!v || v->values.empty()) return otherwise;
  const std::optional<std::int64_t> n = parse_size(v->values[0]);
  if (!n || *n < 0) bad_value("--" + std::string(name), v->values[0], "a size such as 64GiB, 512MB or 1000000");
  return *n;
}

double ParsedArgs::number(std::string_view name, double otherwise, double min, double max) const {
  const OptionValue* v = find(name);
  if (!v || v->values.empty()) return otherwise;
  const std::optional<double> n = parse_double(v->values[0]);
  if (!n || *n < min || *n > max) {
    std::array<char, 64> range{};
    std::snprintf(range.data(), range.size(), "a number from %g to %g", min, max);
    bad_value("--" + std::string(name), v->values[0], range.data());
  }
  return *n;
}

std::string ParsedArgs::choice(std::string_view name, std::string_view otherwise,
                               std::span<const std::string_view> choices) const {
  const OptionValue* v = find(name);
  if (!v || v->values.empty()) return std::string(otherwise);
  for (std::string_view c : choices)
    if (c == v->values[0]) return v->values[0];
  std::string list;
  for (std::string_view c : choices) list += (list.empty() ? "" : ", ") + std::string(c);
  bad_value("--" + std::string(name), v->values[0], "one of " + list);
}

std::optional<std::string> env_value(const char* name) {
  const char* v = std::getenv(name);
  return v && *v ? std::optional<std::string>(v) : std::nullopt;
}

std::int64_t env_integer(const char* name, std::int64_t otherwise) {
  const std::optional<std::string> v = env_value(name);
  if (!v) return otherwise;
  const std::optional<std::int64_t> n = parse_int(*v);
  if (!n)
    throw StartupError(std::string(name) + "='" + *v + "' is no whole number", "environment", "correct it or unset it",
                       2);
  return *n;
}

double env_number(const char* name, double otherwise) {
  const std::optional<std::string> v = env_value(name);
  if (!v) return otherwise;
  const std::optional<double> n = parse_double(*v);
  if (!n)
    throw StartupError(std::string(name) + "='" + *v + "' is no number", "environment", "correct it or unset it", 2);
  return *n;
}

bool env_flag(const char* name) {
  const std::optional<std::string> v = env_value(name);
  if (!v) return false;
  return *v == "1" || *v == "true" || *v == "True" || *v == "TRUE" || *v == "yes" || *v == "on";
}

}  // namespace hearth
