// load_text.h — the text side of a model: tokenizer, chat template, default sampling, end tokens.
//
// Order     chat template: --chat-template, chat_template.jinja, chat_template.json, tokenizer_config.json; in a GGUF file its
//           own metadata.
// Errors    StartupError naming the file and the part of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/json.h"
#include "cli/load_options.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace hearth {

struct ModelText {
  std::shared_ptr<const Tokenizer> tokenizer;
  std::shared_ptr<const ChatTemplate> chat_template;  // null: the model has none
  std::string tokenizer_from, template_from;          // for the log
  std::vector<std::int32_t> end_tokens;               // the vocabulary's own end tokens
  std::int64_t bytes = 0;                             // of heap that all this takes
};

// path: a folder or a .gguf file. --tokenizer and --chat-template take the place of the model's own.
ModelText load_text(const std::string& path, const LoadOptions& options);
std::shared_ptr<const Tokenizer> load_tokenizer_at(const std::string& path);

struct SamplingDefaults {
  Json sampling = Json::object();        // the keys a request may leave out, and max_new_tokens
  std::vector<std::int32_t> end_tokens;  // eos_token_id of the generation config
};
// model_config: the checkpoint's generation_config. option: auto, vllm, or a folder. overrides win.
SamplingDefaults sampling_defaults(const Json& model_config, const std::string& option, const Json& overrides);

}  // namespace hearth
