#include "nn/rope.h"

#include <cmath>
#include <numbers>

#include "checkpoint/hf_config.h"

namespace hearth {
namespace {

// Wavelengths below original / high_freq_factor stay, above original / low_freq_factor are stretched by factor.
void scale_llama3(std::vector<float>& inv_freq, const Json& rope) {
  const double factor = get_double(rope, "factor"), low = get_double(rope, "low_freq_factor"),
               high = get_double(rope, "high_freq_factor");
  const double original = get_double(rope, "original_max_position_embeddings");
  if (!(factor > 0) || !(high > low) || !(low > 0))
    config_error("rope_scaling", "factor > 0 and high_freq_factor > low_freq_factor > 0", dump_json(rope));
  for (float& f : inv_freq) {
    const double wavelength = 2 * std::numbers::pi / static_cast<double>(f);
    if (wavelength < original / high) continue;
    if (wavelength > original / low) {
      f = static_cast<float>(f / factor);
    } else {
      const double smooth = (original / wavelength - low) / (high - low);
      f = static_cast<float>((1 - smooth) * f / factor + smooth * f);
    }
  }
}

}  // namespace

std::vector<float> rope_inv_freq(const Json& text, std::int64_t head_dim) {
  const Json rope = rope_parameters(text);
  const double partial = get_double(rope, "partial_rotary_factor", get_double(text, "partial_rotary_factor", 1.0));
  if (!(partial > 0 && partial <= 1))
    config_error("partial_rotary_factor", "a number above 0, at most 1", std::to_string(partial));
  const auto rotary = static_cast<std::int64_t>(static_cast<double>(head_dim) * partial);
  if (rotary < 2 || rotary % 2 != 0 || rotary > head_dim)
    config_error("partial_rotary_factor", "an even number of rotated dimensions, at most head_dim",
                 std::to_string(rotary));
  const auto theta = static_cast<float>(get_double(rope, "rope_theta"));
  if (!(theta > 0)) config_error("rope_theta", "a positive number", std::to_string(theta));
  std::vector<float> inv_freq;
  for (std::int64_t i = 0; i < rotary / 2; ++i)
    inv_freq.push_back(1.0f / std::pow(theta, static_cast<float>(2 * i) / static_cast<float>(rotary)));

  const std::string type = get_string(rope, "rope_type");
  if (type == "llama3") {
    scale_llama3(inv_freq, rope);
  } else if (type == "linear") {
    const double factor = get_double(rope, "factor");
    if (!(factor > 0)) config_error("rope_scaling.factor", "a positive number", std::to_string(factor));
    for (float& f : inv_freq) f = static_cast<float>(f / factor);
  } else if (type != "default") {
    config_error("rope_type", "default, linear or llama3", type);
  }
  if (const Json* factors = find_key(text, "rope_freq_factors")) {
    if (!factors->is_array() || factors->size() != inv_freq.size())
      config_error("rope_freq_factors", std::to_string(inv_freq.size()) + " numbers", dump_json(*factors));
    for (std::size_t i = 0; i < inv_freq.size(); ++i) {
      const Json& factor = (*factors)[i];
      if (!factor.is_number() || !(factor.get<float>() > 0))
        config_error("rope_freq_factors", "positive numbers", dump_json(factor));
      inv_freq[i] /= factor.get<float>();
    }
  }
  return inv_freq;
}

}  // namespace hearth
