#include "text/tokenizer/json_vocab.h"

#include <fmt/format.h>

#include "base/status.h"

namespace hearth {
namespace {

using Event = nlohmann::json::parse_event_t;

constexpr int kMaxDepth = 64;
constexpr const char* kHint = "fetch the model's tokenizer.json again";

// Called by the parser for each event; decides what is kept as a value. Depth 0 is the file's object, 1 its members,
// 2 those of "model", 3 the entries of model.vocab and model.merges, 4 the halves of a merge.
class Sieve {
 public:
  Sieve(JsonVocab& out, const std::string& file) : out_(out), file_(file) {}

  bool operator()(int depth, Event event, nlohmann::json& value) {
    if (depth > kMaxDepth) fail("", fmt::format("nested deeper than {} levels", kMaxDepth));
    if (event == Event::key) {
      if (depth == 1) first_ = value.get_ref<const std::string&>();
      if (depth == 2) second_ = value.get_ref<const std::string&>();
      if (depth == 3 && in_vocab()) {
        key_ = value.get_ref<const std::string&>();
        return false;
      }
      return true;
    }
    if (depth == 2) container(event);
    if (vocab_open_ && depth == 3) entry(event, value);
    if (merges_open_ && depth >= 3) return merge(depth, event, value);
    return true;
  }

 private:
  bool in_vocab() const { return vocab_open_; }

  void container(Event event) {
    if (first_ != "model") return;
    if (event == Event::object_start && second_ == "vocab") {
      out_.has_vocab = vocab_open_ = true;
      out_.vocab.clear();
    } else if (event == Event::array_start && second_ == "merges") {
      out_.has_merges = merges_open_ = true;
      out_.merges.clear();
    } else if (event == Event::object_end || event == Event::array_end) {
      vocab_open_ = merges_open_ = false;
    }
  }

  void entry(Event event, const nlohmann::json& value) {
    if (event != Event::value || !value.is_number_integer())
      fail("model.vocab", fmt::format("the id of \"{}\" is no integer", key_));
    const bool huge = value.is_number_unsigned() && value.get<std::uint64_t>() > INT64_MAX;
    out_.vocab.emplace_back(std::move(key_), huge ? INT64_MAX : value.get<std::int64_t>());
  }

  bool merge(int depth, Event event, const nlohmann::json& value) {
    const std::size_t index = out_.merges.size();
    if (depth == 3 && event == Event::value) {
      const auto* s = value.get_ptr<const std::string*>();
      const std::size_t space = s ? s->find(' ') : std::string::npos;
      if (space == std::string::npos || s->find(' ', space + 1) != std::string::npos)
        fail("model.merges", fmt::format("entry {} is not of the form \"a b\"", index));
      out_.merges.emplace_back(s->substr(0, space), s->substr(space + 1));
      return false;
    }
    if (depth == 3 && event == Event::array_start) {
      halves_.clear();
      return true;
    }
    if (depth == 3 && event == Event::array_end) {
      if (halves_.size() != 2)
        fail("model.merges", fmt::format("entry {} has {} parts, expected 2", index, halves_.size()));
      out_.merges.emplace_back(std::move(halves_[0]), std::move(halves_[1]));
      return false;
    }
    if (depth == 4 && event == Event::value && value.is_string() && halves_.size() < 2) {
      halves_.push_back(value.get<std::string>());
      return false;
    }
    fail("model.merges", fmt::format("entry {} is neither \"a b\" nor [\"a\", \"b\"]", index));
  }

  [[noreturn]] void fail(std::string_view part, std::string_view what) const {
    throw StartupError(fmt::format("tokenizer: {}{}{}", part, part.empty() ? "" : ": ", what), file_, kHint);
  }

  JsonVocab& out_;
  const std::string& file_;
  std::string first_, second_, key_;  // the keys last seen at depths 1, 2, 3
  std::vector<std::string> halves_;
  bool vocab_open_ = false, merges_open_ = false;
};

}  // namespace

JsonVocab read_json_vocab(std::string_view text, const std::string& file) {
  JsonVocab out;
  Sieve sieve(out, file);
  try {
    out.rest = nlohmann::json::parse(text.begin(), text.end(), [&](int depth, Event event, nlohmann::json& value) {
      return sieve(depth, event, value);
    });
  } catch (const nlohmann::json::exception& e) {
    throw StartupError(fmt::format("tokenizer: not valid JSON: {}", e.what()), file, kHint);
  }
  if (!out.rest.is_object())
    throw StartupError(fmt::format("tokenizer: expected an object, found {}", out.rest.type_name()), file, kHint);
  return out;
}

}  // namespace hearth
