// marked_text.h — text that remembers which of its bytes came from the request.
//
// Only the template's own text is parsed for special tokens; what a client wrote stays text even when it spells <|im_end|>.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hearth {

struct MarkedText {
  std::string text;
  struct Span {
    std::size_t begin, end;
  };                               // [begin, end) bytes
  std::vector<Span> from_request;  // ascending, disjoint
};

}  // namespace hearth
