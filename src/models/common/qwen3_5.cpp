#include "models/common/qwen3_5.h"

#include "checkpoint/hf_config.h"

namespace hearth {
namespace {

// layer_types where the file has them, else every full_attention_interval-th layer is full attention.
std::vector<bool> linear_layers(const Json& text, int num_layers) {
  std::vector<bool> linear;
  if (const Json* types = find_key(text, "layer_types")) {
    if (!types->is_array() || types->size() != static_cast<std::size_t>(num_layers))
      config_error("layer_types", std::to_string(num_layers) + " entries", dump_json(*types));
    for (const Json& t : *types) {
      if (t != "linear_attention" && t != "full_attention")
        config_error("layer_types", "linear_attention or full_attention", dump_json(t));
      linear.push_back(t == "linear_attention");
    }
  } else {
    const std::int64_t interval = get_count(text, "full_attention_interval", 4);
    for (int i = 0; i < num_layers; ++i) linear.push_back((i + 1) % interval != 0);
  }
  return linear;
}

HeadMap head_map(const Json& text) {
  const std::string order = get_string(text, "linear_value_head_order", "grouped");
  if (order != "grouped" && order != "tiled") config_error("linear_value_head_order", "grouped or tiled", order);
  return order == "tiled" ? HeadMap::tiled : HeadMap::grouped;
}

}  // namespace

Qwen3_5Model::Qwen3_5Model(std::string_view architecture, const Json& config) : DecoderModel(architecture, config) {
  zero_centred_norms_ = true;
  if (get_bool(text_, "attention_bias", false)) config_error("attention_bias", "false", "true");
  if (!get_bool(text_, "attn_output_gate", true)) config_error("attn_output_gate", "true", "false");
  const std::string gate = get_string(text_, "output_gate_type", "swish");
  if (gate != "swish" && gate != "silu") config_error("output_gate_type", "swish", gate);
  const std::int64_t kernel = get_count(text_, "linear_conv_kernel_dim", 4);
  if (kernel != 4) config_error("linear_conv_kernel_dim", "4", std::to_string(kernel));
  gdn_ = {hidden_size_,
          get_count(text_, "linear_num_key_heads"),
          get_count(text_, "linear_num_value_heads"),
          get_count(text_, "linear_key_head_dim"),
          get_count(text_, "linear_value_head_dim"),
          norm_eps_,
          head_map(text_)};
  if (gdn_.num_v_heads % gdn_.num_k_heads != 0)
    config_error("linear_num_value_heads", "a multiple of linear_num_key_heads " + std::to_string(gdn_.num_k_heads),
                 std::to_string(gdn_.num_v_heads));

  linear_ = linear_layers(text_, info_.num_layers);
  int counts[2] = {0, 0};
  for (const bool linear : linear_) cache_index_.push_back(counts[linear]++);
  info_.cache.num_kv_layers = counts[false];
  info_.cache.num_state_layers = counts[true];
  info_.cache.conv_channels = gdn_.conv_channels();
  info_.cache.state_heads = gdn_.num_v_heads;
  info_.cache.state_dk = gdn_.head_k_dim;
  info_.cache.state_dv = gdn_.head_v_dim;
}

DecoderLayer Qwen3_5Model::bind_layer(Binder& b, const std::string& prefix, int i) {
  if (i == 0) {
    b.ignore_prefix("model.visual.");  // the picture encoder
    b.ignore_prefix("mtp.");           // the draft head
  }
  const auto at = static_cast<std::size_t>(i);
  DecoderLayer l;
  if (linear_[at]) {
    l.input_layernorm = bind_layernorm(b, prefix + "input_layernorm");
    l.linear_attn = bind_gated_delta_net(b, prefix + "linear_attn.", gdn_, cache_index_[at]);
    l.post_attention_layernorm = bind_layernorm(b, prefix + "post_attention_layernorm");
  } else {
    AttentionConfig a = attention_config();
    a.qk_norm = true;
    a.output_gate = true;
    l = bind_attention_layer(b, prefix, a, cache_index_[at]);
  }
  bind_ffn(b, prefix + "mlp.", l);
  return l;
}

}  // namespace hearth
