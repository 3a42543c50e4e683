#include "cli/load_text.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/status.h"
#include "checkpoint/gguf.h"
#include "cli/gguf_vocab.h"
#include "cli/resolve_model.h"

namespace hearth {
namespace fs = std::filesystem;
namespace {

std::string read_file(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw StartupError("cannot read the file", path.string(), "check the path and its permissions");
  std::ostringstream out;
  out << in.rdbuf();
  return out.str();
}

Json read_json(const fs::path& path) {
  Result<Json> parsed = parse_json(read_file(path));
  if (!parsed)
    throw StartupError("the file is no valid JSON: " + parsed.status().message, path.string(), "fetch the file again");
  if (!parsed->is_object())
    throw StartupError("expected a JSON object, found something else", path.string(), "fetch the file again");
  return *std::move(parsed);
}

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

// tokenizer_config's and chat_template.json's forms: a string, or a list of {name, template}.
std::string template_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return {};
  for (const Json& item : value)
    if (item.is_object() && item.value("name", "") == "default") return item.value("template", "");
  return {};
}

struct TemplateText {
  std::string text, from;
};

TemplateText folder_template(const fs::path& dir, const Json& tokenizer_config) {
  std::error_code error;
  if (fs::exists(dir / "chat_template.jinja", error))
    return {read_file(dir / "chat_template.jinja"), (dir / "chat_template.jinja").string()};
  if (fs::exists(dir / "chat_template.json", error)) {
    const Json j = read_json(dir / "chat_template.json");
    if (j.contains("chat_template")) return {template_text(j["chat_template"]), (dir / "chat_template.json").string()};
  }
  if (tokenizer_config.contains("chat_template"))
    return {template_text(tokenizer_config["chat_template"]), (dir / "tokenizer_config.json").string()};
  return {};
}

TemplateText given_template(const std::string& option) {
  std::error_code error;
  if (fs::is_regular_file(option, error)) return {read_file(option), option};
  if (option.find("{{") != std::string::npos || option.find("{%") != std::string::npos)
    return {option, "--chat-template"};
  throw StartupError("'" + option + "' is neither a file nor a Jinja template", "--chat-template",
                     "give the path of a template, or its text with {{ … }} or {% … %}");
}

void add_id(std::vector<std::int32_t>& ids, std::int32_t id) {
  if (std::find(ids.begin(), ids.end(), id) == ids.end()) ids.push_back(id);
}

ModelText read_text(const std::string& path, const std::string& chat_template) {
  ModelText out;
  Json config = Json::object();
  TemplateText text;
  out.tokenizer_from = path;
  if (is_gguf(path)) {
    const GgufFile file(path);
    const GgufVocab vocab = read_gguf_vocab(file);
    out.tokenizer = make_tokenizer(vocab);
    if (vocab.eot) out.end_tokens.push_back(*vocab.eot);
    text = {file.get_string("tokenizer.chat_template").value_or(""), path};
  } else {
    const fs::path dir(path);
    out.tokenizer = load_tokenizer(path);
    std::error_code error;
    if (fs::exists(dir / "tokenizer_config.json", error)) config = read_json(dir / "tokenizer_config.json");
    text = folder_template(dir, config);
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
  ModelText out = read_text(path, options.chat_template);
  if (!options.tokenizer.empty()) {
    out.tokenizer_from = resolve_tokenizer(options.tokenizer, options.tokenizer_revision, options.cache_dir);
    out.tokenizer = load_tokenizer_at(out.tokenizer_from);
  }
  return_free_heap();
  out.bytes = std::max<std::int64_t>(0, heap_bytes() - before);
  return out;
}

SamplingDefaults sampling_defaults(const Json& model_config, const std::string& option, const Json& overrides) {
  static constexpr std::array<const char*, 8> kKeys{
      "temperature",       "top_p",         "top_k", "min_p", "repetition_penalty", "presence_penalty",
      "frequency_penalty", "max_new_tokens"};
  SamplingDefaults out;
  Json source = Json::object();
  Json model = model_config;
  if (option != "auto" && option != "vllm") {
    const fs::path p(option);
    std::error_code error;
    model = read_json(fs::is_directory(p, error) ? p / "generation_config.json" : p);
  }
  if (option != "vllm") source = model;
  for (const auto& [key, value] : overrides.items()) source[key] = value;
  for (const char* key : kKeys) {
    if (!source.contains(key) || source[key].is_null()) continue;
    if (!source[key].is_number())
      throw StartupError(std::string(key) + " must be a number, found " + source[key].dump(), "generation config",
                         "correct it, or pass --generation-config vllm");
    out.sampling[key] = source[key];
  }
  // End tokens belong to the model, whatever the sampling defaults are taken from.
  const Json& eos = overrides.contains("eos_token_id") ? overrides["eos_token_id"]
                    : model.contains("eos_token_id")   ? model["eos_token_id"]
                                                       : Json();
  if (eos.is_number_integer())
    add_id(out.end_tokens, eos.get<std::int32_t>());
  else if (eos.is_array())
    for (const Json& id : eos)
      if (id.is_number_integer()) add_id(out.end_tokens, id.get<std::int32_t>());
  return out;
}

}  // namespace hearth
