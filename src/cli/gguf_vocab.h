// gguf_vocab.h — the vocabulary that a GGUF file carries, as the tokenizer takes it.
//
// Errors    StartupError: no tokenizer.ggml.model or tokens, a key of the wrong type. An id outside the vocabulary (some
//           converters write 4294967295 for "none") counts as absent, with a warning.
#pragma once

#include "checkpoint/gguf.h"
#include "text/tokenizer.h"

namespace hearth {

GgufVocab read_gguf_vocab(const GgufFile& file);

}  // namespace hearth
