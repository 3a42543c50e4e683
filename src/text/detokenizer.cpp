#include "text/detokenizer.h"

#include "text/utf8.h"

namespace hearth {

std::string Detokenizer::push(std::int32_t id) {
  if (skip_special_ && tokenizer_.is_special(id)) return {};
  std::string_view bytes = tokenizer_.bytes(id);
  if (at_start_ && !bytes.empty()) {
    at_start_ = false;
    const std::string_view strip = tokenizer_.leading_strip();
    if (!strip.empty() && bytes.starts_with(strip)) bytes.remove_prefix(strip.size());
  }
  held_.append(bytes);
  std::string out;
  held_.erase(0, take_utf8(held_, out));
  return out;
}

std::string Detokenizer::finish() {
  std::string out = to_utf8(held_);
  held_.clear();
  return out;
}

}  // namespace hearth
