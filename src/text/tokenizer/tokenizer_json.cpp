// Hugging Face's tokenizer.json and tokenizer_config.json. "truncation" and "padding" are left out: they are for training
// and embedding pipelines, and a server must not cut prompts silently.
#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "base/file_reader.h"
#include "base/log.h"
#include "base/status.h"
#include "text/tokenizer/byte_alphabet.h"
#include "text/tokenizer/json_components.h"
#include "text/tokenizer/json_vocab.h"
#include "text/tokenizer/pipeline.h"

namespace hearth {
namespace {

const nlohmann::json kNull;

// Everything that is filled while the two files are read.
class Loader {
 public:
  Loader(std::string_view tokenizer_json, const std::string& file)
      : file_(file), vocab_(read_json_vocab(tokenizer_json, file_)), root_(vocab_.rest, file_, "") {}

  std::unique_ptr<Tokenizer> load(std::string_view config, const std::string& config_file) {
    read_spellings();
    parts_.normalizer = read_normalizer(part("normalizer"));
    JsonPreTokenizer pre = read_pre_tokenizer(part("pre_tokenizer"));
    parts_.decoder = read_decoder(part("decoder"));
    read_model(pre.raw_bytes);
    parts_.pre_tokenizer = std::move(pre.steps);
    read_added();
    JsonPostProcessor post = read_post_processor(part("post_processor"));
    parts_.before = std::move(post.before);
    parts_.after = std::move(post.after);
    if (!config.empty()) read_config(config, config_file);
    for (const std::int32_t id : parts_.before) require_token(id);
    for (const std::int32_t id : parts_.after) require_token(id);
    return make_pipeline(std::move(parts_));
  }

 private:
  JsonPart part(const char* key) const { return root_.has(key) ? root_.at(key) : JsonPart(kNull, file_, key); }

  void require_token(std::int32_t id) const {
    if (static_cast<std::size_t>(id) >= parts_.spellings.size() ||
        parts_.spellings[static_cast<std::size_t>(id)].empty())
      part("post_processor").fail(fmt::format("id {} is no token of the vocabulary", id));
  }

  void read_spellings() {
    const JsonPart model = root_.at("model");
    const std::string type = model.has("type") ? model.type() : vocab_.has_merges ? "BPE" : "unknown";
    if (type != "BPE") model.fail(fmt::format("model type \"{}\" is not offered; expected BPE", type));
    if (!vocab_.has_vocab) model.fail("\"vocab\" is missing");
    if (!vocab_.has_merges) model.fail("\"merges\" is missing");
    for (const auto& [text, id] : vocab_.vocab) {
      if (id < 0 || id > kMaxTokenId)
        model.at("vocab").fail(fmt::format("id {} is out of range (0 … {})", id, kMaxTokenId));
      put_spelling(static_cast<std::int32_t>(id), text);
      ids_[text] = static_cast<std::int32_t>(id);
    }
  }

  void put_spelling(std::int32_t id, const std::string& text) {
    if (static_cast<std::size_t>(id) >= parts_.spellings.size())
      parts_.spellings.resize(static_cast<std::size_t>(id) + 1);
    parts_.spellings[static_cast<std::size_t>(id)] = text;
  }

  void read_model(bool raw_bytes) {
    const JsonPart model = root_.at("model");
    if (model.has("dropout") && model.at("dropout").value() != 0) model.at("dropout").fail("expected null or 0");
    for (const char* key : {"continuing_subword_prefix", "end_of_word_suffix"})
      if (model.has(key) && !model.at(key).text().empty()) model.at(key).fail("not offered; expected null");

    BpeParts bpe;
    bpe.ignore_merges = model.flag("ignore_merges", false);
    bpe.byte_fallback = model.flag("byte_fallback", false);
    bpe.fuse_unk = model.flag("fuse_unk", false);
    bpe.byte_symbols = raw_bytes && !bpe.byte_fallback;
    if (model.has("unk_token")) {
      const auto it = ids_.find(model.at("unk_token").text());
      if (it != ids_.end()) bpe.unk = it->second;
    }
    if (raw_bytes && !bpe.byte_symbols) model.at("byte_fallback").fail("not offered together with ByteLevel");

    std::vector<std::string> bytes;
    bytes.reserve(vocab_.vocab.size());
    for (const auto& [text, id] : vocab_.vocab) {
      if (bpe.byte_symbols) {
        // What holds other characters can't come out of bytes.
        std::optional<std::string> raw = from_byte_letters(text);
        if (!raw) continue;
        bytes.push_back(*std::move(raw));
        bpe.vocab.push_back({static_cast<std::int32_t>(id), bytes.back()});
      } else {
        bpe.vocab.push_back({static_cast<std::int32_t>(id), text});
      }
    }
    bpe.merges.reserve(vocab_.merges.size());
    for (std::size_t i = 0; i < vocab_.merges.size(); ++i) {
      const auto& [left, right] = vocab_.merges[i];
      bpe.merges.push_back({merge_id(i, left), merge_id(i, right), merge_id(i, left + right)});
    }
    parts_.model = make_bpe(bpe);
  }

  std::int32_t merge_id(std::size_t index, const std::string& text) const {
    const auto it = ids_.find(text);
    if (it == ids_.end())
      root_.at("model").at("merges").fail(
          fmt::format("entry {} needs the token \"{}\", which the vocabulary lacks", index, text));
    return it->second;
  }

  // The vocabulary's own id for a spelling counts more than the one written beside it.
  void add_token(AddedToken token, const JsonPart& from, bool strict) {
    if (token.content.empty()) return;
    const auto known = ids_.find(token.content);
    if (known != ids_.end()) token.id = known->second;
    const auto i = static_cast<std::size_t>(token.id);
    if (i < parts_.spellings.size() && !parts_.spellings[i].empty() && parts_.spellings[i] != token.content) {
      const std::string what =
          fmt::format("\"{}\" has id {}, which is \"{}\"", token.content, token.id, parts_.spellings[i]);
      if (strict) from.fail(what);
      log_warning("tokenizer: {}: {}; this entry is left out", from.path(), what);
      return;
    }
    put_spelling(token.id, token.content);
    ids_[token.content] = token.id;
    const auto [old, first] = added_at_.try_emplace(token.id, parts_.added.size());
    if (first)
      parts_.added.push_back(std::move(token));
    else
      parts_.added[old->second] = std::move(token);
  }

  static AddedToken read_added_token(const JsonPart& part, std::int64_t id) {
    AddedToken token;
    if (id < 0 || id > kMaxTokenId) part.fail(fmt::format("id {} is out of range (0 … {})", id, kMaxTokenId));
    token.id = static_cast<std::int32_t>(id);
    token.content = part.at("content").text();
    token.special = part.flag("special", false);
    token.single_word = part.flag("single_word", false);
    token.lstrip = part.flag("lstrip", false);
    token.rstrip = part.flag("rstrip", false);
    token.normalized = part.flag("normalized", !token.special);
    return token;
  }

  void read_added() {
    if (!root_.has("added_tokens")) return;
    const JsonPart list = root_.at("added_tokens");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const JsonPart item = list.item(i);
      add_token(read_added_token(item, item.at("id").integer()), item, true);
    }
  }

  void read_config(std::string_view text, const std::string& file) {
    nlohmann::json value;
    try {
      value = nlohmann::json::parse(text);
    } catch (const nlohmann::json::exception& e) {
      throw StartupError(fmt::format("tokenizer: not valid JSON: {}", e.what()), file,
                         "fetch tokenizer_config.json again");
    }
    const JsonPart config(value, file, "");
    if (!value.is_object()) config.fail(fmt::format("expected an object, found {}", value.type_name()));
    if (config.has("added_tokens_decoder")) {
      const JsonPart table = config.at("added_tokens_decoder");
      if (!table.value().is_object())
        table.fail(fmt::format("expected an object, found {}", table.value().type_name()));
      for (const auto& [key, item] : table.value().items()) {
        const JsonPart entry(item, file, fmt::format("added_tokens_decoder.{}", key));
        if (key.empty() || key.size() > 9 || key.find_first_not_of("0123456789") != std::string::npos)
          entry.fail("the key is no token id");
        add_token(read_added_token(entry, std::stol(key)), entry, false);
      }
    }
    parts_.bos = named_token(config, "bos_token");
    parts_.eos = named_token(config, "eos_token");
    parts_.pad = named_token(config, "pad_token");
    set_end(config, "add_bos_token", parts_.bos, parts_.before);
    set_end(config, "add_eos_token", parts_.eos, parts_.after);
  }

  // A string, or an added token's object; one that the vocabulary lacks is none.
  std::optional<std::int32_t> named_token(const JsonPart& config, const char* key) const {
    if (!config.has(key)) return std::nullopt;
    const JsonPart part = config.at(key);
    const auto it = ids_.find(part.value().is_object() ? part.at("content").text() : part.text());
    return it == ids_.end() ? std::nullopt : std::optional(it->second);
  }

  static void set_end(const JsonPart& config, const char* key, std::optional<std::int32_t> id,
                      std::vector<std::int32_t>& ids) {
    if (!config.has(key) || !id) return;
    const bool there = std::find(ids.begin(), ids.end(), *id) != ids.end();
    const bool wanted = config.flag(key, there);
    if (wanted && !there) ids.push_back(*id);
    if (!wanted && there) std::erase(ids, *id);
  }

  std::string file_;
  JsonVocab vocab_;
  JsonPart root_;
  PipelineParts parts_;
  TextIndex ids_;                                           // spelling → id, model vocabulary and added tokens
  std::unordered_map<std::int32_t, std::size_t> added_at_;  // id → place in parts_.added
};

}  // namespace

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view tokenizer_json, std::string_view config,
                                          const std::string& name) {
  return Loader(tokenizer_json, name + "/tokenizer.json").load(config, name + "/tokenizer_config.json");
}

std::unique_ptr<Tokenizer> load_tokenizer(const std::string& dir) {
  const std::string file = dir + "/tokenizer.json", config_file = dir + "/tokenizer_config.json";
  if (!file_present(file))
    throw StartupError("tokenizer: tokenizer.json is missing", file,
                       "the model's folder must hold tokenizer.json; vocab files of other formats are not read");
  const std::string text = FileReader(file).text();
  std::string config;
  if (file_present(config_file)) {
    config = FileReader(config_file).text();
    if (config.empty()) throw StartupError("tokenizer: the file is empty", config_file, "fetch it again");
  }
  return make_tokenizer(text, config, dir);
}

}  // namespace hearth
