// args_config.cpp — --config FILE.yaml as command-line words.
#include <yaml-cpp/yaml.h>

#include <algorithm>

#include "base/args.h"
#include "base/file_reader.h"
#include "base/status.h"

namespace hearth {
namespace {

constexpr int kMaxDepth = 32;  // an alias may stand inside what it names

// A plain scalar keeps its YAML type; a quoted one (tag "!") is text.
Json to_json(const YAML::Node& node, int depth = 0) {
  if (depth > kMaxDepth) throw YAML::Exception(node.Mark(), "values are nested too deep");
  if (node.IsMap()) {
    Json out = Json::object();
    for (const auto& pair : node) out[pair.first.as<std::string>()] = to_json(pair.second, depth + 1);
    return out;
  }
  if (node.IsSequence()) {
    Json out = Json::array();
    for (const auto& item : node) out.push_back(to_json(item, depth + 1));
    return out;
  }
  if (node.IsNull() || !node.IsScalar()) return nullptr;
  const std::string text = node.Scalar();
  if (node.Tag() == "!") return text;
  if (bool b = false; YAML::convert<bool>::decode(node, b)) return b;
  Result<Json> parsed = parse_json(text);
  return parsed && parsed->is_number() ? *parsed : Json(text);
}

std::string as_word(const Json& value) { return value.is_string() ? value.get<std::string>() : dump_json(value); }

}  // namespace

std::vector<std::string> config_words(const std::string& file) {
  YAML::Node root;
  try {
    root = YAML::Load(read_text(file));
  } catch (const StartupError& e) {
    throw StartupError(e.what(), file, "check the path given to --config", 2);
  } catch (const YAML::Exception& e) {
    throw StartupError(std::string("the config file is no valid YAML: ") + e.what(), file,
                       "correct the line named above", 2);
  }
  std::vector<std::string> words;
  std::string model;
  if (root.IsNull()) return words;
  if (!root.IsMap())
    throw StartupError("the config file must be a mapping of option names to values", file,
                       "write lines such as `max-model-len: 8192`", 2);
  try {
    for (const auto& pair : root) {
      const std::string key = pair.first.as<std::string>();
      const Json value = to_json(pair.second);
      std::string normal = key;
      std::replace(normal.begin(), normal.end(), '_', '-');
      if (normal == "config")
        throw StartupError("a config file cannot name another one", file, "remove the key `config`", 2);
      if (normal == "model") {
        model = as_word(value);
      } else if (value.is_null()) {
        continue;
      } else if (value.is_boolean()) {
        words.push_back((value.get<bool>() ? "--" : "--no-") + key);
      } else if (value.is_array()) {
        if (value.empty()) continue;
        words.push_back("--" + key);
        for (const Json& item : value) words.push_back(as_word(item));
      } else if (value.is_object()) {
        words.push_back("--" + key + "=" + dump_json(value));
      } else {
        words.push_back("--" + key + "=" + as_word(value));
      }
    }
  } catch (const YAML::Exception& e) {
    throw StartupError(std::string("the config file cannot be understood: ") + e.what(), file, "keys are option names",
                       2);
  }
  if (!model.empty()) {
    words.push_back("--");
    words.push_back(model);
  }
  return words;
}

}  // namespace hearth
