#include "base/args.h"

#include <algorithm>
#include <cctype>

#include "base/status.h"

namespace hearth {
namespace {

[[noreturn]] void bad_args(const std::string& what, const std::string& where, const std::string& hint = {}) {
  throw StartupError(what, where, hint, 2);
}

bool is_negative_number(std::string_view word) {
  if (word.size() < 2 || word[0] != '-') return false;
  bool digits = false;
  for (char c : word.substr(1)) {
    if (std::isdigit(static_cast<unsigned char>(c)))
      digits = true;
    else if (c != '.')
      return false;
  }
  return digits;
}

bool looks_like_option(std::string_view word) {
  return word.size() >= 2 && word[0] == '-' && !is_negative_number(word) && word.find(' ') == std::string_view::npos;
}

// Only the name's underscores: --served_model_name=a_b keeps a_b, --x_y.some_key keeps some_key.
std::string normal_name(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '_', '-');
  return out;
}

Json scalar_or_text(const std::string& text) {
  Result<Json> parsed = parse_json(text);
  return parsed ? *parsed : Json(text);
}

// --opt.a.b+ value: puts value at path [a, b] of target; '+' appends, a comma-separated list appends each.
void put_dotted(Json& target, std::string path, const std::string& value, const std::string& spelled) {
  bool append = false;
  if (!path.empty() && path.back() == '+') {
    append = true;
    path.pop_back();
  }
  Json* at = &target;
  std::size_t begin = 0;
  while (true) {
    const std::size_t dot = path.find('.', begin);
    const std::string key = path.substr(begin, dot == std::string::npos ? std::string::npos : dot - begin);
    if (key.empty()) bad_args("an empty key in the dotted option", spelled, "write --option.key value");
    if (!at->is_object()) *at = Json::object();
    at = &(*at)[key];
    if (dot == std::string::npos) break;
    begin = dot + 1;
  }
  if (!append) {
    *at = scalar_or_text(value);
    return;
  }
  if (!at->is_array()) *at = Json::array();
  std::size_t from = 0;
  while (from <= value.size()) {
    const std::size_t comma = value.find(',', from);
    at->push_back(scalar_or_text(value.substr(from, comma == std::string::npos ? comma : comma - from)));
    if (comma == std::string::npos) break;
    from = comma + 1;
  }
}

void merge_into(Json& target, const Json& from) {
  for (const auto& [key, value] : from.items()) {
    if (value.is_object() && target.contains(key) && target[key].is_object())
      merge_into(target[key], value);
    else
      target[key] = value;
  }
}

}  // namespace

ArgParser::ArgParser(std::vector<OptionDef> options) : options_(std::move(options)) {
  for (const OptionDef& def : options_) {
    auto add = [&](std::string_view name) {
      long_names_.emplace(name, Match{&def, false});
      if (def.arity == Arity::flag) long_names_.emplace("no-" + std::string(name), Match{&def, true});
    };
    add(def.name);
    std::string_view rest = def.aliases;
    while (!rest.empty()) {
      const std::string_view alias = rest.substr(0, rest.find(' '));
      rest.remove_prefix(std::min(rest.size(), alias.size() + 1));
      if (alias.starts_with("--"))
        add(alias.substr(2));
      else
        short_names_.emplace(alias.substr(1), Match{&def, false});
    }
  }
  // A real option that is called no-… wins over the twin of another.
  for (const OptionDef& def : options_) long_names_[std::string(def.name)] = Match{&def, false};
}

std::optional<ArgParser::Match> ArgParser::match(const std::string& name) const {
  if (auto exact = long_names_.find(name); exact != long_names_.end()) return exact->second;
  std::vector<std::string> candidates;
  std::optional<Match> found;
  for (auto it = long_names_.lower_bound(name); it != long_names_.end() && it->first.starts_with(name); ++it) {
    if (found && found->def == it->second.def && found->negated == it->second.negated) continue;
    candidates.push_back("--" + it->first);
    found = it->second;
  }
  if (candidates.size() <= 1) return found;
  std::string list;
  for (const std::string& c : candidates) list += (list.empty() ? "" : ", ") + c;
  bad_args("ambiguous option --" + name + " could be " + list, "--" + name, "write the name out");
}

std::string ArgParser::suggest(std::string_view name) const {
  std::string best;
  int best_distance = static_cast<int>(std::max<std::size_t>(2, name.size() / 3)) + 1;
  for (const auto& [candidate, unused] : long_names_) {
    const int d = edit_distance(name, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = "--" + candidate;
    }
  }
  return best;
}

ParsedArgs ArgParser::parse(const std::vector<std::string>& args, ParseRules rules,
                            const std::vector<std::string>& config) const {
  ParsedArgs out;
  parse_into(out, config, rules, true);
  const std::vector<std::string> from_config = std::move(out.positionals);
  out.positionals.clear();
  parse_into(out, args, rules, false);
  if (out.positionals.empty() && !out.has("model")) out.positionals = from_config;
  return out;
}

void ArgParser::parse_into(ParsedArgs& out, const std::vector<std::string>& words, ParseRules rules,
                           bool from_config) const {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    if (word == "--") {
      out.positionals.insert(out.positionals.end(), words.begin() + static_cast<std::ptrdiff_t>(i) + 1, words.end());
      return;
    }
    if (!looks_like_option(word)) {
      out.positionals.push_back(word);
      continue;
    }
    // name [.path] [= value]
    const bool is_long = word.starts_with("--");
    const std::size_t name_begin = is_long ? 2 : 1;
    const std::size_t equals = word.find('=');
    std::string name = word.substr(name_begin, equals == std::string::npos ? equals : equals - name_begin);
    std::optional<std::string> attached;
    if (equals != std::string::npos) attached = word.substr(equals + 1);
    std::string path;
    if (const std::size_t dot = name.find('.'); dot != std::string::npos) {
      path = name.substr(dot + 1);
      name.resize(dot);
    }
    const std::string spelled = word.substr(0, equals);
    std::optional<Match> m;
    if (is_long) {
      name = normal_name(name);
      m = match(name);
    } else if (auto it = short_names_.find(name); it != short_names_.end()) {
      m = it->second;
    } else if (auto glued = short_names_.find(name.substr(0, 1));
               glued != short_names_.end() && glued->second.def->arity == Arity::value && !attached &&
               name.find_first_not_of("0123456789", 1) == std::string::npos) {
      m = glued->second;  // -O3
      attached = name.substr(1);
    }
    if (!m) {
      if (rules.ignore_unknown) {
        out.warnings.push_back("unknown option " + spelled + " is ignored");
        if (!attached && i + 1 < words.size() && !looks_like_option(words[i + 1])) ++i;
        continue;
      }
      const std::string near = suggest(name);
      bad_args("unknown option " + spelled, spelled,
               near.empty() ? "--help lists the options" : "did you mean " + near + "?");
    }
    const OptionDef& def = *m->def;
    const bool is_json = def.arity == Arity::json || def.arity == Arity::json_or_number;
    if (!path.empty() && !is_json)
      bad_args(spelled + ": only JSON options take a dotted key", spelled, "write --" + std::string(def.name));
    auto next_value = [&]() -> std::optional<std::string> {
      if (i + 1 >= words.size() || looks_like_option(words[i + 1])) return std::nullopt;
      return words[++i];
    };
    auto need_value = [&] {
      if (attached) return *attached;
      if (auto v = next_value()) return *v;
      bad_args(spelled + " expects a value", spelled, "write " + spelled + " VALUE or " + spelled + "=VALUE");
    };

    auto [entry, fresh] = out.options.try_emplace(std::string(def.name));
    OptionValue& value = entry->second;
    const bool repeated = !fresh && value.from_config == from_config;
    if (!is_json && !fresh) value.values.clear();
    value.spelled = spelled;
    value.from_config = from_config;
    switch (def.arity) {
      case Arity::flag:
        if (attached)
          bad_args(spelled + " takes no value (got '" + *attached + "')", spelled,
                   "write --" + std::string(def.name) + " or --no-" + std::string(def.name));
        if (repeated && value.on == m->negated)
          out.warnings.push_back(spelled + " was given in both senses; the last one counts");
        value.on = !m->negated;
        break;
      case Arity::value:
        value.values = {need_value()};
        if (repeated)
          out.warnings.push_back(spelled + " was given more than once; the last value counts: " + value.values[0]);
        break;
      case Arity::optional_value:
        if (attached)
          value.values = {*attached};
        else if (auto v = next_value())
          value.values = {*v};
        break;
      case Arity::many:
        value.values = {need_value()};
        if (!attached)
          while (auto v = next_value()) value.values.push_back(*v);
        if (repeated) out.warnings.push_back(spelled + " was given more than once; the last list counts");
        break;
      case Arity::json:
      case Arity::json_or_number: {
        const std::string text = need_value();
        if (!path.empty()) {
          put_dotted(value.json, path, text, spelled);
          break;
        }
        Result<Json> parsed = parse_json(text);
        value.values.push_back(text);
        if (parsed && parsed->is_object()) {
          merge_into(value.json, *parsed);
        } else if (parsed && parsed->is_number() && def.arity == Arity::json_or_number) {
          break;
        } else if (text.find('=') != std::string::npos && text.find('{') == std::string::npos) {
          // image=4,video=0: the older spelling of --limit-mm-per-prompt.
          std::size_t from = 0;
          while (from < text.size()) {
            const std::size_t comma = std::min(text.find(',', from), text.size());
            const std::string pair = text.substr(from, comma - from);
            const std::size_t eq = pair.find('=');
            if (eq == std::string::npos) bad_args(spelled + ": '" + pair + "' is no key=value", spelled);
            value.json[pair.substr(0, eq)] = scalar_or_text(pair.substr(eq + 1));
            from = comma + 1;
          }
        } else {
          bad_args(spelled + " expects a JSON object, got '" + text + "'" +
                       (parsed ? std::string() : " (" + parsed.status().message + ")"),
                   spelled, "write " + spelled + " '{\"key\": value}' or " + spelled + ".key value");
        }
        break;
      }
    }
  }
}

}  // namespace hearth
