#include "cli/serve_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/status.h"

namespace hearth {
namespace {

bool listed(std::string_view list, std::string_view word) {
  while (!list.empty()) {
    const std::string_view item = list.substr(0, list.find(' '));
    if (item == word) return true;
    list.remove_prefix(std::min(list.size(), item.size() + 1));
  }
  return false;
}

bool all_zero(const Json& counts) {
  for (const auto& [modality, limit] : counts.items()) {
    const Json& n = limit.is_object() && limit.contains("count") ? limit["count"] : limit;
    if (!n.is_number() || n.get<double>() != 0) return false;
  }
  return true;
}

// Does this use of the option ask only for what holds anyway?
bool passes(const FlagDef& f, const OptionValue& v) {
  if (f.accepts == "*") return true;
  if (f.arity == Arity::flag) return !v.on && (f.cls == FlagClass::refused || listed(f.accepts, "false"));
  if (f.arity == Arity::json) return f.accepts == "zeros" && all_zero(v.json);
  return !v.values.empty() && std::all_of(v.values.begin(), v.values.end(), [&](const std::string& value) {
    return value.empty() || listed(f.accepts, value);
  });
}

std::string given(const OptionValue& v) {
  std::string out = v.spelled;
  for (const std::string& value : v.values) out += " " + value;
  if (v.values.empty() && !v.json.empty()) out += " " + dump_json(v.json);
  return out;
}

std::string arity_text(const FlagDef& f) {
  switch (f.arity) {
    case Arity::flag:
      return "";
    case Arity::value:
      return " X";
    case Arity::optional_value:
      return " [X]";
    case Arity::many:
      return " X …";
    case Arity::json:
      return " JSON";
    case Arity::json_or_number:
      return " JSON|N";
  }
  return "";
}

const char* class_text(FlagClass c) {
  return c == FlagClass::implemented ? "works" : c == FlagClass::ignored ? "ignored" : "refused";
}

}  // namespace

const FlagDef* find_serve_flag(std::string_view name) {
  for (const FlagDef& f : serve_flags())
    if (f.name == name) return &f;
  return nullptr;
}

const ArgParser& serve_arg_parser() {
  static const ArgParser parser([] {
    std::vector<OptionDef> options;
    for (const FlagDef& f : serve_flags()) options.push_back({f.name, f.arity, f.aliases});
    options.push_back({"help", Arity::optional_value, "-h"});
    return options;
  }());
  return parser;
}

std::vector<std::string> ignored_flag_warnings(const ParsedArgs& args) {
  std::vector<std::string> out;
  for (const auto& [name, value] : args.options) {
    const FlagDef* f = find_serve_flag(name);
    if (f && f->cls == FlagClass::ignored && !passes(*f, value))
      out.push_back(fmt::format("{} is ignored: {}", value.spelled, f->help));
  }
  return out;
}

void refuse_flags(const ParsedArgs& args) {
  std::string what, where, hint;
  for (const auto& [name, value] : args.options) {
    const FlagDef* f = find_serve_flag(name);
    const bool limited =
        f && (f->cls == FlagClass::refused || (f->cls == FlagClass::implemented && !f->accepts.empty()));
    if (!limited || passes(*f, value)) continue;
    what += fmt::format("{}{} is not supported: {}", what.empty() ? "" : "; ", given(value), f->help);
    where += (where.empty() ? "" : ", ") + value.spelled;
    hint += fmt::format("{}{}: {}", hint.empty() ? "" : "; ", value.spelled, f->nearest);
  }
  if (!what.empty()) throw StartupError(what, where, hint, 2);
}

std::string serve_help(std::string_view filter) {
  std::string out =
      "usage: hearth serve MODEL [options]\n\n"
      "MODEL is a folder with config.json and safetensors, a .gguf file, or a hub id in the local Hugging Face cache.\n"
      "Numbers take suffixes (25.6k, 32K); JSON options also take --option.key value; every switch has a --no- twin.\n";
  std::string_view group;
  int shown = 0;
  for (const FlagDef& f : serve_flags()) {
    const bool show = filter.empty() ? f.cls == FlagClass::implemented
                                     : filter == "all" || f.name.find(filter) != std::string_view::npos ||
                                           f.group.find(filter) != std::string_view::npos;
    if (!show) continue;
    ++shown;
    if (f.group != group) out += fmt::format("\n{}:\n", group = f.group);
    std::string left = fmt::format("  --{}{}", f.name, arity_text(f));
    if (!f.aliases.empty()) left += fmt::format(" ({})", f.aliases);
    out += left.size() < 36 ? fmt::format("{:<36}", left) : left + "\n" + std::string(36, ' ');
    if (f.cls != FlagClass::implemented) out += fmt::format("[{}] ", class_text(f.cls));
    out += f.help;
    if (f.cls == FlagClass::implemented && !f.default_text.empty()) out += fmt::format(" [{}]", f.default_text);
    out += "\n";
  }
  if (shown == 0) out += fmt::format("\nno option holds '{}'; --help=all lists every one\n", filter);
  if (filter.empty())
    out += "\n--help=all also lists what is accepted and ignored, and what is refused; --help=WORD searches.\n";
  return out;
}

std::string serve_flags_markdown() {
  std::string out =
      "# Options of `hearth serve`\n\n"
      "Written by `hearth docs flags` from the table in `src/cli/serve_flags_table.cpp`.\n\n"
      "*works*: does what it says. *ignored*: tunes something that is not here and changes no result; one warning "
      "line. *refused*: would\n"
      "change results or resources; exit code 2 with the reason and the nearest supported value. Anything else is "
      "unknown: exit code 2 with a\n"
      "suggestion.\n";
  std::string_view group;
  auto cell = [](std::string_view text) {
    std::string s;
    for (char c : text) s += c == '|' ? std::string("\\|") : std::string(1, c);
    return s;
  };
  for (const FlagDef& f : serve_flags()) {
    if (f.group != group) {
      group = f.group;
      out += fmt::format("\n## {}\n\n| option | | default or instead | what |\n|---|---|---|---|\n", group);
    }
    std::string spelled = fmt::format("`--{}{}`", f.name, arity_text(f));
    if (!f.aliases.empty()) spelled += fmt::format(" `{}`", f.aliases);
    const std::string_view middle = f.cls == FlagClass::refused ? f.nearest : f.default_text;
    out += fmt::format("| {} | {} | {} | {} |\n", cell(spelled), class_text(f.cls), cell(middle), cell(f.help));
  }
  return out;
}

}  // namespace hearth
