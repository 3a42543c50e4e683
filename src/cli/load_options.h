// load_options.h — what is needed to load a model into a running engine; every verb that loads one fills this.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "engine/engine.h"

namespace hearth {

struct MemoryOptions {
  std::optional<double> utilization;        // share of the machine's memory
  std::int64_t kv_cache_bytes = 0;          // 0: derived
  std::int32_t num_blocks = 0;              // 0: derived
  std::int64_t cap_bytes = 0;               // 0: none
  std::optional<std::int64_t> floor_bytes;  // memory of the machine that stays free
};

struct LoadOptions {
  std::string model, revision, cache_dir;
  std::string tokenizer, tokenizer_revision;  // empty: the model's
  std::string load_format = "auto";           // auto, safetensors, gguf
  std::string quantization;                   // empty: as stored; "fp8", "gguf": must be so
  std::string dtype = "auto";                 // auto, float32, bfloat16, float16
  std::string kv_cache_dtype = "auto";        // auto: dtype
  std::string hf_config_path;
  Json hf_overrides = Json::object();
  std::string generation_config = "auto";  // auto, vllm, or a folder
  Json override_generation_config = Json::object();
  std::string chat_template;       // a file or the template itself; empty: the model's
  std::string device = "auto";     // auto, cpu, ref
  int threads = 0;                 // 0: physical cores
  std::int64_t max_model_len = 0;  // 0: the model's, cut to what fits; -1: what fits
  bool allow_long_max_model_len = false;
  LogprobsMode logprobs_mode = LogprobsMode::raw_logprobs;
  EngineConfig engine;  // engine.max_model_len is set by the plan
  bool max_num_seqs_given = false;
  MemoryOptions memory;
};

}  // namespace hearth
