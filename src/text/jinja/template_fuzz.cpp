// template_fuzz.cpp — any template, rendered over a small conversation, ends in a text or in an error.
//
// Build     clang++ -std=c++20 -Isrc -fsanitize=fuzzer,address src/text/jinja/template_fuzz.cpp and the room's other sources
#include <cstddef>
#include <cstdint>
#include <string>

#include "text/chat_template.h"
#include "text/jinja/from_json.h"
#include "text/jinja/interp.h"
#include "text/jinja/parser.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hearth;
  static const Json kMessages = Json::parse(R"([
    {"role": "system", "content": "Be <|im_end|> brief.\n"},
    {"role": "user", "content": [{"type": "text", "text": "Grüße 你好"}]},
    {"role": "assistant", "content": "<think>a</think>b", "tool_calls": [{"type": "function",
      "function": {"name": "f", "arguments": {"x": 1.5, "y": [true, null], "z": {"k": "v"}}}}]},
    {"role": "tool", "content": "  ok "}])");
  static const Json kTools =
      Json::parse(R"([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])");
  const std::string source(reinterpret_cast<const char*>(data), size);
  try {
    const jinja::Template t = jinja::parse(source);
    jinja::Interp interp(jinja::Budget(20000, 1 << 20));
    interp.set_variable("messages", from_json(kMessages, jinja::Origin::messages));
    interp.set_variable("tools", from_json(kTools, jinja::Origin::request));
    interp.set_variable("add_generation_prompt", jinja::Value(true));
    const jinja::Str out = interp.render(t);
    std::size_t end = 0;
    for (const jinja::Span& m : out.marks) {  // ascending, disjoint, inside the text
      if (m.begin < end || m.end <= m.begin || m.end > out.size()) __builtin_trap();
      end = m.end;
    }
    if (!jinja::valid_utf8(out.text)) __builtin_trap();
  } catch (const jinja::Error&) {
  }
  return 0;
}
