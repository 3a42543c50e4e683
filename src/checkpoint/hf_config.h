// hf_config.h — typed reading of config.json: a value, its fallback, or a StartupError that names key, expected and found.
//
// A key that is absent or null takes the fallback; without one it is an error.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/json.h"

namespace hearth {

// The language model's part: config["text_config"] where there is one (multimodal checkpoints), else config itself.
const Json& text_config(const Json& config);

// Null when the key is absent or null.
const Json* find_key(const Json& config, std::string_view key);

std::int64_t get_int(const Json& config, std::string_view key);
std::int64_t get_int(const Json& config, std::string_view key, std::int64_t fallback);
// A size or number of things: 1 … 2^31 − 1.
std::int64_t get_count(const Json& config, std::string_view key);
std::int64_t get_count(const Json& config, std::string_view key, std::int64_t fallback);
double get_double(const Json& config, std::string_view key);
double get_double(const Json& config, std::string_view key, double fallback);
bool get_bool(const Json& config, std::string_view key, bool fallback);
std::string get_string(const Json& config, std::string_view key);
std::string get_string(const Json& config, std::string_view key, std::string_view fallback);

// num_experts, or num_local_experts as transformers 5 writes it.
std::int64_t get_num_experts(const Json& text_config);

// Rotary settings as one object, whichever form the file uses: rope_parameters (transformers 5), or rope_theta with
// rope_scaling beside it (4). Always has rope_theta and rope_type ("default" when no scaling is given).
Json rope_parameters(const Json& text_config);

// The error for a value this program cannot use: [[noreturn]] so that checks read as one line.
[[noreturn]] void config_error(std::string_view key, const std::string& expected, const std::string& found);

}  // namespace hearth
