// resolve_model.h — MODEL as the user writes it, as a path on this machine.
//
// Errors    StartupError: no such path; a folder with neither config.json nor one .gguf; a hub id that is not in the cache
//           (nothing is downloaded yet, and the message says so).
// Environment  HF_HUB_CACHE, HF_HOME, XDG_CACHE_HOME, HOME: where the Hugging Face cache is.
#pragma once

#include <string>

namespace hearth {

// A folder with config.json, or a .gguf file. revision: branch, tag or commit of a hub id. cache_dir: empty for the
// default.
std::string resolve_model(const std::string& model, const std::string& revision = {},
                          const std::string& cache_dir = {});

// The same for a tokenizer: a folder with tokenizer.json will do.
std::string resolve_tokenizer(const std::string& tokenizer, const std::string& revision = {},
                              const std::string& cache_dir = {});

// The hub cache: $HF_HUB_CACHE, $HF_HOME/hub, or ~/.cache/huggingface/hub.
std::string hub_cache_dir();

}  // namespace hearth
