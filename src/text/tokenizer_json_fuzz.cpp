// tokenizer_json_fuzz — any bytes as tokenizer.json, what follows a 0xFF byte as text for it, and after a second one
// tokenizer_config.json: read or refused in words, and then encoded, decoded and streamed to the same text.
#include <cstdint>
#include <string_view>

#include "base/log.h"
#include "base/status.h"
#include "text/testing/round_trip.h"
#include "text/tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace hearth;
  [[maybe_unused]] static const bool quiet = (set_log_level(LogLevel::error), true);
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  const auto part = [&](std::string_view absent) {
    if (rest.data() == nullptr) return absent;
    const std::size_t cut = rest.find('\xff');
    const std::string_view found = rest.substr(0, cut);
    rest = cut == std::string_view::npos ? std::string_view() : rest.substr(cut + 1);
    return found;
  };
  const std::string_view json = part("");
  const std::string_view text = part("a<s> b\xC3\xA9 1");
  const std::string_view config = part("");
  try {
    testing::round_trip(*make_tokenizer(json, config, "fuzz"), text);
  } catch (const StartupError&) {
  }
  return 0;
}
