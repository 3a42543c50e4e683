#include "cli/load_text.h"

#include <fmt/format.h>
#include <malloc.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>

#include "base/file_reader.h"
#include "base/status.h"
#include "checkpoint/gguf.h"
#include "checkpoint/json_file.h"
#include "cli/gguf_vocab.h"
#include "cli/resolve_model.h"

namespace hearth {
namespace fs = std::filesystem;
namespace {

bool is_gguf(const std::string& path) { return fs::path(path).extension() == ".gguf"; }

// The special tokens as a template sees them: plain strings.
Json special_tokens(const Json& tokenizer_config, const Tokenizer& tokenizer) {
  Json out = Json::object();
  for (const auto& [key, value] : tokenizer_config.items()) {
    if (!key.ends_with("_token")) continue;
    if (value.is_string())
      out[key] = value;
    else if (value.is_object() && value.contains("content") && value["content"].is_string())
      out[key] = value["content"];
  }
  auto from_id = [&](const char* key, std::optional<std::int32_t> id) {
    if (!out.contains(key) && id) out[key] = std::string(tokenizer.spelling(*id));
  };
  if (tokenizer_config.empty()) {
    from_id("bos_token", tokenizer.bos_id());
    from_id("eos_token", tokenizer.eos_id());
    from_id("pad_token", tokenizer.pad_id());
  }
  return out;
}

struct TemplateText {
  std::string text, from;
};

// "chat_template" of tokenizer_config.json and chat_template.json: a string, or a list of {name, template}; null is none.
TemplateText template_in(const Json& file, const std::string& from) {
  const Json value = file.value("chat_template", Json());
  if (value.is_null()) return {};
  if (value.is_string()) return {value.get<std::string>(), from};
  if (value.is_array()) {
    for (const Json& item : value)
      if (item.is_object() && item.value("name", Json()) == "default" && item.value("template", Json()).is_string())
        return {item["template"].get<std::string>(), from};
  }
  throw StartupError("expected a string, or a list of {name, template} with one named \"default\"",
                     from + ": chat_template", "fetch the file again, or pass --chat-template");
}

TemplateText template_file(std::string text, const std::string& path) {
  TemplateText file{std::move(text), path};
  if (file.text.find_first_not_of(" \t\r\n") == std::string::npos)
    throw StartupError("the chat template is empty", path, "fetch the file again, or remove it");
  return file;
}

TemplateText folder_template(const std::string& dir, const Json& tokenizer_config) {
  const std::string jinja = dir + "/chat_template.jinja";
  if (file_present(jinja)) return template_file(FileReader(jinja).text(), jinja);
  const std::string json = dir + "/chat_template.json";
  if (file_present(json))
    if (TemplateText found = template_in(read_json_file(json), json); !found.from.empty()) return found;
  return template_in(tokenizer_config, dir + "/tokenizer_config.json");
}

TemplateText given_template(const std::string& option) {
  std::error_code error;
  if (fs::exists(option, error)) return template_file(read_text(option), option);
  if (option.find("{{") != std::string::npos || option.find("{%") != std::string::npos)
    return {option, "--chat-template"};
  throw StartupError("'" + option + "' is neither a file nor a Jinja template", "--chat-template",
                     "give the path of a template, or its text with {{ … }} or {% … %}");
}

void add_id(std::vector<std::int32_t>& ids, std::int32_t id) {
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

ModelText model_text(const std::string& path, const std::string& chat_template) {
  ModelText out;
  Json config = Json::object();
  TemplateText text;
  out.tokenizer_from = path;
  if (is_gguf(path)) {
    const GgufFile file(path);
    const GgufVocab vocab = read_gguf_vocab(file);
    out.tokenizer = make_tokenizer(vocab);
    if (vocab.eot) out.end_tokens.push_back(*vocab.eot);
    if (chat_template.empty()) text = {file.get_string("tokenizer.chat_template").value_or(""), path};
  } else {
    out.tokenizer = load_tokenizer(path);
    if (file_present(path + "/tokenizer_config.json")) config = read_json_file(path + "/tokenizer_config.json");
    if (chat_template.empty()) text = folder_template(path, config);
  }
  if (!chat_template.empty()) text = given_template(chat_template);
  if (auto eos = out.tokenizer->eos_id()) add_id(out.end_tokens, *eos);
  if (!text.text.empty()) {
    try {
      out.chat_template = std::make_shared<const ChatTemplate>(text.text, special_tokens(config, *out.tokenizer));
    } catch (const StartupError& e) {
      throw StartupError(e.what(), text.from + (e.where().empty() ? "" : ": " + e.where()), e.hint());
    }
    out.template_from = text.from;
  }
  return out;
}

std::int64_t heap_bytes() {
#if defined(__GLIBC__)
  const struct mallinfo2 info = mallinfo2();
  return static_cast<std::int64_t>(info.uordblks + info.hblkhd);
#else
  return 0;
#endif
}

// What the parsers left free goes back to the system.
void return_free_heap() {
#if defined(__GLIBC__)
  malloc_trim(0);
#endif
}

}  // namespace

std::shared_ptr<const Tokenizer> load_tokenizer_at(const std::string& path) {
  if (is_gguf(path)) return make_tokenizer(read_gguf_vocab(GgufFile(path)));
  return load_tokenizer(path);
}

ModelText load_text(const std::string& path, const LoadOptions& options) {
  const std::int64_t before = heap_bytes();
  ModelText out = model_text(path, options.chat_template);
  if (!options.tokenizer.empty()) {
    out.tokenizer_from = resolve_tokenizer(options.tokenizer, options.tokenizer_revision, options.cache_dir);
    out.tokenizer = load_tokenizer_at(out.tokenizer_from);
  }
  return_free_heap();
  out.bytes = std::max<std::int64_t>(0, heap_bytes() - before);
  return out;
}

SamplingDefaults sampling_defaults(const Json& model_config, const std::string& option, const Json& overrides) {
  struct Key {
    const char* name;
    double min, max;
    bool whole;
  };
  static constexpr Key kKeys[] = {{"temperature", 0, 100, false},
                                  {"top_p", 1e-6, 1, false},
                                  {"top_k", -1, HUGE_VAL, true},
                                  {"min_p", 0, 1, false},
                                  {"repetition_penalty", 1e-6, 100, false},
                                  {"presence_penalty", -2, 2, false},
                                  {"frequency_penalty", -2, 2, false},
                                  {"max_new_tokens", 1, 2147483647, true}};
  SamplingDefaults out;
  Json source = Json::object();
  Json model = model_config;
  if (option != "auto" && option != "vllm") {
    const fs::path p(option);
    std::error_code error;
    model = read_json_file((fs::is_directory(p, error) ? p / "generation_config.json" : p).string());
  }
  if (option != "vllm") source = model;
  for (const auto& [key, value] : overrides.items()) source[key] = value;
  for (const Key& key : kKeys) {
    if (!source.contains(key.name) || source[key.name].is_null()) continue;
    const Json& value = source[key.name];
    const double n = value.is_number() ? value.get<double>() : NAN;
    if (!(n >= key.min && n <= key.max) || (key.whole && n != std::floor(n)))
      throw StartupError(fmt::format("{} must be a {}number from {:g} to {:.10g}, found {}", key.name,
                                     key.whole ? "whole " : "", key.min, key.max, value.dump()),
                         "generation config", "correct it, or pass --generation-config vllm");
    out.sampling[key.name] = value;
  }
  // End tokens belong to the model, whatever the sampling defaults are taken from.
  const Json& eos = overrides.contains("eos_token_id") ? overrides["eos_token_id"]
                    : model.contains("eos_token_id")   ? model["eos_token_id"]
                                                       : Json();
  if (eos.is_null()) return out;
  for (const Json& id : eos.is_array() ? eos : Json::array({eos})) {
    if (!id.is_number_integer() || id < 0 || id > std::numeric_limits<std::int32_t>::max())
      throw StartupError("eos_token_id must be a token id or a list of them, found " + eos.dump(), "generation config",
                         "correct it, or pass --override-generation-config.eos_token_id");
    add_id(out.end_tokens, id.get<std::int32_t>());
  }
  return out;
}

}  // namespace hearth
