// Any bytes as tokenizer.json, what follows a 0xFF byte as text for it: read or refused in words, and then encoded, decoded
// and streamed to the same text.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "base/status.h"
#include "text/detokenizer.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hearth;
  const std::string_view all(reinterpret_cast<const char*>(data), size);
  const std::size_t cut = all.find('\xff');
  const std::string_view text =
      cut == std::string_view::npos ? std::string_view("a<s> b\xC3\xA9 1") : all.substr(cut + 1);
  try {
    const std::unique_ptr<Tokenizer> tokenizer = make_tokenizer(all.substr(0, cut), "", "fuzz");
    const std::vector<std::int32_t> ids = tokenizer->encode(text, {.add_special = true});
    tokenizer->encode(MarkedText{std::string(text), {{0, text.size() / 2}}}, true);
    Detokenizer detokenizer(*tokenizer, false, true);
    std::string streamed;
    for (const std::int32_t id : ids) streamed += detokenizer.push(id);
    streamed += detokenizer.finish();
    HEARTH_CHECK(streamed == tokenizer->decode(ids, false));
  } catch (const StartupError&) {
  }
  return 0;
}
