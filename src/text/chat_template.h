// chat_template.h — a model's Jinja chat template: messages in, prompt text out, with provenance.
//
// Environment  as Hugging Face transformers': trim_blocks, lstrip_blocks, loop controls, tojson without HTML escaping,
//              raise_exception, strftime_now. Messages, tool results and arguments are marked; the mark survives the template.
// Errors       parse: StartupError naming the line. render: invalid_argument with the template's own message, or with Python's
//              name for the error and the line. Kwargs may not set messages, tools, documents and the other named inputs.
// Limits       steps, bytes and depth of one rendering are bounded (jinja/budget.h); going beyond is an error like any other.
// Threads      render from any thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "text/marked_text.h"

namespace hearth {

struct RenderInput {
  Json messages;   // already normalised (normalize_messages)
  Json tools;      // null: none
  Json documents;  // null: none
  bool add_generation_prompt = true;
  bool continue_final_message = false;
  Json kwargs = Json::object();  // the server's own: --default-chat-template-kwargs, enable_thinking, …; not marked
  Json request_kwargs = Json::object();  // chat_template_kwargs of the request; win over kwargs, strings are marked
};

// What one rendering may spend, and more in proportion to a large input. Enough for a full context of hundreds of messages
// through the largest known templates, many times over; a few seconds.
struct RenderLimits {
  std::int64_t steps = 20'000'000;
  std::int64_t bytes = std::int64_t{256} << 20;
};

class ChatTemplate {
 public:
  // special_tokens: {"bos_token": "…", "eos_token": "…", …} as the template sees them.
  ChatTemplate(std::string source, Json special_tokens, RenderLimits limits = {});
  ~ChatTemplate();
  ChatTemplate(ChatTemplate&&) noexcept;

  Result<MarkedText> render(const RenderInput& input) const;
  const std::string& source() const;
  // Does the template look into content parts (then lists stay lists), or expect strings?
  bool wants_content_parts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// The rules that come before rendering: roles (developer → system), leading system messages merged, content parts joined
// or kept, tool-call arguments parsed, tools reduced to {type, function{name, description, parameters, strict}}.
// lenient: a late system message moves to the front instead of being refused.
struct MessageRules {
  bool lenient = true;
  bool keep_parts = false;  // ChatTemplate::wants_content_parts()
};
Result<Json> normalize_messages(const Json& messages, const MessageRules& rules);
Result<Json> normalize_tools(const Json& tools);

}  // namespace hearth
