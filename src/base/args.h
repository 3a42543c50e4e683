// args.h — a command line: options with argparse's grammar, so that a launch line written for vLLM parses the same
// here.
//
// Grammar   --opt value, --opt=value; '-' and '_' are one letter inside names; an unambiguous prefix of a long name
// will do;
//           every flag has a --no- twin; a repeated option keeps its last value and warns; `many` takes all that
//           follows up to the next option; JSON options take an object, or --opt.key value, or --opt.list+ value, and
//           all forms merge.
//           "--" ends the options. A word that begins with '-' is an option unless it is a negative number or holds a
//           space.
// Errors    StartupError with exit code 2: unknown option (with a suggestion), ambiguous prefix, missing or stray
// value. Environment  env_value() is the only place that reads it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace hearth {

enum class Arity {
  flag,            // no value; --no-x turns it off
  value,           // exactly one
  optional_value,  // none or one
  many,            // one or more, greedy
  json,            // one JSON object; dotted forms
  json_or_number,  // the same, or a bare number
};

struct OptionDef {
  std::string_view name;  // "max-model-len": no dashes in front, '-' inside
  Arity arity = Arity::flag;
  std::string_view aliases = {};  // space-separated, with dashes: "-tp --tp-size"
};

struct OptionValue {
  std::string spelled;              // as given, for messages
  bool on = true;                   // flags
  std::vector<std::string> values;  // value: 1, optional_value: 0 or 1, many: 1…
  Json json = Json::object();       // json
  bool from_config = false;
};

struct ParsedArgs {
  std::vector<std::string> positionals;
  std::map<std::string, OptionValue, std::less<>> options;  // by OptionDef::name
  std::vector<std::string> warnings;

  const OptionValue* find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name) != nullptr; }
  bool on(std::string_view name, bool otherwise = false) const;
  std::string text(std::string_view name, std::string_view otherwise = {}) const;
  std::vector<std::string> list(std::string_view name) const;
  Json json(std::string_view name) const;
  // These throw StartupError (exit code 2) naming the option, the value and what was expected.
  std::int64_t integer(std::string_view name, std::int64_t otherwise, std::int64_t min, std::int64_t max) const;
  std::int64_t human_integer(std::string_view name, std::int64_t otherwise) const;
  std::int64_t size(std::string_view name, std::int64_t otherwise) const;
  double number(std::string_view name, double otherwise, double min, double max) const;
  std::string choice(std::string_view name, std::string_view otherwise,
                     std::span<const std::string_view> choices) const;
};

struct ParseRules {
  bool ignore_unknown = false;  // an unknown option warns; one word after it that is no option goes with it
};

class ArgParser {
 public:
  explicit ArgParser(std::vector<OptionDef> options);
  ArgParser(const ArgParser&) = delete;  // the tables point into options_
  // config: the file's options as words (config_words); they yield to args without a warning.
  ParsedArgs parse(const std::vector<std::string>& args, ParseRules rules = {},
                   const std::vector<std::string>& config = {}) const;
  // The nearest option name to a misspelt one ("--max-model-len"); empty when nothing is near.
  std::string suggest(std::string_view name) const;

 private:
  struct Match {
    const OptionDef* def = nullptr;
    bool negated = false;
  };
  std::optional<Match> match(const std::string& name) const;
  void parse_into(ParsedArgs& out, const std::vector<std::string>& words, ParseRules rules, bool from_config) const;

  std::vector<OptionDef> options_;
  std::map<std::string, Match, std::less<>> long_names_;   // with the --no- twins, without dashes
  std::map<std::string, Match, std::less<>> short_names_;  // "tp"
};

// A YAML file of long option names as command-line words: a mapping becomes a JSON option, true --x, false --no-x, a list
// `--x a b`. `model: M` becomes the positional (last word), unless the command line has its own.
std::vector<std::string> config_words(const std::string& file);

// "25.6k" = 25600, "4K" = 4096; k m g t are powers of 1000 (decimals allowed), K M G T of 1024 (whole numbers only).
std::optional<std::int64_t> parse_human_integer(std::string_view text);
// "64GiB", "64G" (1024s), "64GB" (1000s), "1.5GiB", plain bytes.
std::optional<std::int64_t> parse_size(std::string_view text);
// Edits (insert, delete, replace, swap) from one word to the other.
int edit_distance(std::string_view a, std::string_view b);

// The environment.
std::optional<std::string> env_value(const char* name);              // absent or empty: nothing
std::int64_t env_integer(const char* name, std::int64_t otherwise);  // StartupError when it is no integer
double env_number(const char* name, double otherwise);
bool env_flag(const char* name);  // "1", "true", "yes", "on"

}  // namespace hearth
