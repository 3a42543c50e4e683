// json_vocab.h — reads tokenizer.json: its vocabulary and merge list as flat lists, the rest as a JSON value.
//
// The two lists hold half a million strings; as JSON values they would take most of the time and memory of a start.
#pragma once

#include <nlohmann/json.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hearth {

struct JsonVocab {
  nlohmann::json rest;  // the file without what follows
  bool has_vocab = false, has_merges = false;
  std::vector<std::pair<std::string, std::int64_t>> vocab;  // model.vocab, in the file's order
  std::vector<std::pair<std::string, std::string>> merges;  // model.merges, "a b" or ["a", "b"]
};

// Throws StartupError: no JSON, nested too deep, an entry of the wrong kind.
JsonVocab read_json_vocab(std::string_view text, const std::string& file);

}  // namespace hearth
