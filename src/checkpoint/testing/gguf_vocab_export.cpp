#include "checkpoint/testing/gguf_vocab_export.h"

#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "base/file_reader.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/json_file.h"

namespace hearth {
namespace {

constexpr std::int64_t kNormal = 1, kControl = 3, kUserDefined = 4, kUnused = 5;

}  // namespace

void export_gguf_vocab(const std::string& folder, const WeightSource& hf, const std::string& arch,
                       GgufMetadata& metadata) {
  const Json tokenizer = read_json_file(folder + "/tokenizer.json");
  const auto size = static_cast<std::size_t>(get_count(text_config(hf.config()), "vocab_size"));
  std::vector<std::string> tokens(size);
  std::vector<std::int64_t> types(size, kUnused);
  for (std::size_t i = 0; i < size; ++i) tokens[i] = fmt::format("[PAD{}]", i);
  std::map<std::string, std::int64_t> ids;
  const auto set = [&](const std::string& text, std::size_t id, std::int64_t type) {
    if (id >= size) config_error("vocab_size", fmt::format("more than the token id {}", id), std::to_string(size));
    tokens[id] = text;
    types[id] = type;
    ids[text] = static_cast<std::int64_t>(id);
  };
  for (const auto& [text, id] : tokenizer["model"]["vocab"].items()) set(text, id.get<std::size_t>(), kNormal);
  for (const Json& t : tokenizer["added_tokens"]) {
    set(t["content"].get<std::string>(), t["id"].get<std::size_t>(),
        get_bool(t, "special", false) ? kControl : kUserDefined);
  }
  std::vector<std::string> merges;
  for (const Json& m : tokenizer["model"]["merges"]) {
    merges.push_back(m.is_string() ? m.get<std::string>() : m[0].get<std::string>() + " " + m[1].get<std::string>());
  }
  metadata.emplace_back("tokenizer.ggml.model", std::string("gpt2"));
  metadata.emplace_back("tokenizer.ggml.pre", std::string(arch.starts_with("qwen35") ? "qwen35" : "qwen2"));
  metadata.emplace_back("tokenizer.ggml.tokens", std::move(tokens));
  metadata.emplace_back("tokenizer.ggml.token_type", std::move(types));
  metadata.emplace_back("tokenizer.ggml.merges", std::move(merges));

  if (std::filesystem::exists(folder + "/tokenizer_config.json")) {
    const Json config = read_json_file(folder + "/tokenizer_config.json");
    for (const auto& [from, to] : {std::pair{"eos_token", "tokenizer.ggml.eos_token_id"},
                                   {"bos_token", "tokenizer.ggml.bos_token_id"},
                                   {"pad_token", "tokenizer.ggml.padding_token_id"}}) {
      const Json* t = find_key(config, from);
      if (t != nullptr && t->is_object()) t = find_key(*t, "content");
      if (t == nullptr || !t->is_string()) continue;
      if (const auto it = ids.find(t->get<std::string>()); it != ids.end()) metadata.emplace_back(to, it->second);
    }
    metadata.emplace_back("tokenizer.ggml.add_bos_token", get_bool(config, "add_bos_token", false));
  }
  // A second stop token of generation_config.json is the end of a turn in GGUF's terms, or of the text.
  if (const Json* stops = find_key(hf.generation_config(), "eos_token_id");
      stops != nullptr && stops->is_array() && stops->size() > 1) {
    metadata.emplace_back("tokenizer.ggml.eot_token_id", (*stops)[1].get<std::int64_t>());
  }
  if (std::filesystem::exists(folder + "/chat_template.jinja")) {
    metadata.emplace_back("tokenizer.chat_template", FileReader(folder + "/chat_template.jinja").text(1u << 20));
  }
}

}  // namespace hearth
