// chat_session.h — a conversation with an engine of this process: messages, parameters, and the prompt made of them.
//
// Without a chat template the model continues the text it is given, and nothing is remembered between turns.
#pragma once

#include <atomic>
#include <functional>
#include <string>
#include <string_view>

#include "cli/load_text.h"
#include "cli/local_generation.h"

namespace hearth {

class ChatSession {
 public:
  ChatSession(Engine& engine, ModelText text, SamplingDefaults defaults, std::atomic<bool>& interrupted);

  // The answer to text, said through on_text as it comes, and remembered (what was said so far, when interrupted).
  Generated say(const std::string& text, const std::function<void(std::string_view)>& on_text);
  void clear();
  void set_system(std::string text);
  const std::string& system() const { return system_; }
  Status set_parameter(const std::string& name, const std::string& value);
  const Json& parameters() const { return parameters_; }
  const ModelText& text() const { return text_; }
  const Json& messages() const { return messages_; }

 private:
  Result<std::vector<std::int32_t>> prompt_of(const Json& messages) const;

  Engine& engine_;
  ModelText text_;
  std::vector<std::int32_t> end_tokens_;
  std::atomic<bool>& interrupted_;
  std::string system_;
  Json messages_ = Json::array();
  Json parameters_;
};

}  // namespace hearth
