// template_fuzz — any bytes as a chat template, and what follows a 0xFF byte as the messages for it: parsed, probed, and
// rendered in the ways requests ask for, to a text with sound marks or to an error.
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "base/status.h"
#include "text/chat_template.h"
#include "text/jinja/str.h"

namespace {

using namespace hearth;

constexpr std::string_view kMessages = R"([
    {"role": "system", "content": "Be <|im_end|> brief.\n"},
    {"role": "user", "content": [{"type": "text", "text": "Grüße 你好"}]},
    {"role": "assistant", "content": "<think>a</think>b", "tool_calls": [{"type": "function",
      "function": {"name": "f", "arguments": {"x": 1.5, "y": [true, null], "z": {"k": "v"}}}}]},
    {"role": "tool", "content": "  ok "}])";

void check(const Result<MarkedText>& out) {
  if (!out) {
    HEARTH_CHECK(!out.status().message.empty());
    return;
  }
  std::size_t end = 0;
  for (const MarkedText::Span& m : out->from_request) {  // ascending, disjoint, inside the text
    HEARTH_CHECK(m.begin >= end && m.end > m.begin && m.end <= out->text.size());
    end = m.end;
  }
  HEARTH_CHECK(jinja::valid_utf8(out->text));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const Json tools = *normalize_tools(
      Json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])"));
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = all.find('\xff');
  try {
    const ChatTemplate chat(std::string(all.substr(0, cut)), Json{{"bos_token", "<s>"}, {"eos_token", "</s>"}},
                            {.steps = 20000, .bytes = 1 << 20});
    const Result<Json> given = parse_json(cut == std::string_view::npos ? kMessages : all.substr(cut + 1));
    if (!given) return 0;
    for (const bool lenient : {true, false}) {
      const Result<Json> messages = normalize_messages(*given, {lenient, chat.wants_content_parts()});
      if (!messages) continue;
      RenderInput input;
      input.messages = *messages;
      input.tools = lenient ? tools : Json();
      input.add_generation_prompt = lenient;
      input.continue_final_message = !lenient;
      input.request_kwargs = Json{{"enable_thinking", lenient}, {"word", "<s>"}};
      check(chat.render(input));
    }
  } catch (const StartupError&) {
  }
  return 0;
}
