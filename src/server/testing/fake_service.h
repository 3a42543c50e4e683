// fake_service.h — a whole server without a model, for tests: a tokenizer of printable characters and an engine over a
// HashRunner, so what it says is known from straight_line() alone.
#pragma once

#include "engine/testing/hash_runner.h"
#include "server/service.h"

namespace hearth::testing {

// Ids 0 … 94 are the printable ASCII characters, 95 the newline, 96 the end token "<|end|>", 97 and 98 the halves of "é".
class CharTokenizer final : public Tokenizer {
 public:
  static constexpr std::int32_t kEnd = 96, kVocab = 99;

  std::vector<std::int32_t> encode(std::string_view text, Options options) const override {
    std::vector<std::int32_t> ids;
    for (std::size_t i = 0; i < text.size(); ++i) {
      if (options.parse_special && text.substr(i).starts_with(kEndText)) {
        ids.push_back(kEnd);
        i += kEndText.size() - 1;
      } else {
        ids.push_back(id_of_byte(text[i]));
      }
    }
    return ids;
  }
  std::vector<std::int32_t> encode(const MarkedText& text, bool) const override {
    std::vector<std::int32_t> ids;
    std::size_t at = 0;
    const auto part = [&](std::size_t end, bool special) {
      for (const std::int32_t id : encode(std::string_view(text.text).substr(at, end - at), {false, special}))
        ids.push_back(id);
      at = end;
    };
    for (const auto& span : text.from_request) {
      part(span.begin, true);
      part(span.end, false);
    }
    part(text.text.size(), true);
    return ids;
  }
  std::int32_t vocab_size() const override { return kVocab; }
  bool is_special(std::int32_t id) const override { return id == kEnd; }
  bool is_added(std::int32_t id) const override { return id == kEnd; }
  std::string_view bytes(std::int32_t id) const override {
    static const std::string printable = [] {
      std::string s;
      for (char c = 32; c < 127; ++c) s.push_back(c);
      return s + "\n";
    }();
    if (id >= 0 && id < 96) return std::string_view(printable).substr(static_cast<std::size_t>(id), 1);
    return id == kEnd ? kEndText
           : id == 97 ? std::string_view("\xc3")
           : id == 98 ? std::string_view("\xa9")
                      : std::string_view();
  }
  std::optional<std::int32_t> id_of(std::string_view token) const override {
    for (std::int32_t id = 0; id < kVocab; ++id)
      if (bytes(id) == token) return id;
    return std::nullopt;
  }
  std::string_view spelling(std::int32_t id) const override { return bytes(id); }
  std::string_view leading_strip() const override { return {}; }
  std::string decode(std::span<const std::int32_t> ids, bool skip_special) const override {
    std::string out;
    for (const std::int32_t id : ids)
      if (!(skip_special && is_special(id))) out += id >= 97 ? std::string("\xef\xbf\xbd") : std::string(bytes(id));
    return out;
  }
  std::optional<std::int32_t> bos_id() const override { return std::nullopt; }
  std::optional<std::int32_t> eos_id() const override { return kEnd; }
  std::optional<std::int32_t> pad_id() const override { return std::nullopt; }

 private:
  static constexpr std::string_view kEndText = "<|end|>";
  static std::int32_t id_of_byte(char c) { return c == '\n' ? 95 : c >= 32 && c < 127 ? c - 32 : '?' - 32; }
};

struct FakeOptions {
  std::int32_t max_model_len = 512;
  std::int32_t max_num_seqs = 16;
  double step_seconds = 0;  // real time a step takes
  ServerConfig config = {};
};

inline RunnerInfo fake_runner_info(const FakeOptions& o) {
  RunnerInfo info;
  info.vocab_size = CharTokenizer::kVocab;
  info.block_tokens = 16;
  info.num_blocks = o.max_num_seqs * (o.max_model_len / 16 + 1);
  info.max_batch_tokens = 256;
  info.max_seqs = o.max_num_seqs;
  return info;
}

// A template that says "<role>content<|end|>" for each message and "<assistant>" at the end.
inline constexpr const char* kFakeTemplate =
    "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% if not (loop.last and not add_generation_prompt) "
    "%}<|end|>{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% if enable_thinking is defined and enable_thinking %}<think>{% endif "
    "%}{% endif %}";

inline std::shared_ptr<Service> fake_service(const FakeOptions& o = {}) {
  static const SteadyClock clock;
  auto service = std::make_shared<Service>();
  service->config = o.config;
  auto model = std::make_shared<ServedModel>();
  model->names = {"fake", "org/fake"};
  model->root = "org/fake";
  model->created = 1700000000;
  model->max_model_len = o.max_model_len;
  model->vocab_size = CharTokenizer::kVocab;
  model->tokenizer = std::make_shared<CharTokenizer>();
  model->longest_token_bytes = longest_token(*model->tokenizer);
  model->chat_template = std::make_shared<ChatTemplate>(kFakeTemplate, Json::object());
  model->eos_token_ids = {CharTokenizer::kEnd};
  model->recorder = make_recorder(*service, "fake", o.max_model_len, {{"block_size", "16"}});
  EngineConfig engine;
  engine.max_model_len = o.max_model_len;
  engine.max_num_seqs = o.max_num_seqs;
  engine.max_num_batched_tokens = 256;
  HashRunnerConfig runner;
  runner.info = fake_runner_info(o);
  runner.sleep_seconds = o.step_seconds;
  model->engine = std::make_shared<Engine>(engine, std::make_unique<HashRunner>(runner), clock, model->recorder.get());
  model->engine->start();
  service->models = {model};
  return service;
}

}  // namespace hearth::testing
