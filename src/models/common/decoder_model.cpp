#include "models/common/decoder_model.h"

#include "base/status.h"
#include "checkpoint/hf_config.h"
#include "nn/rope.h"

namespace hearth {
namespace {

// A window is harmless when no context can be longer, or when the file says that it is not used.
void refuse_sliding_window(const Json& text, std::int64_t max_positions) {
  if (const Json* types = find_key(text, "layer_types"))
    for (const Json& t : *types)
      if (t == "sliding_attention")
        config_error("layer_types", "full_attention or linear_attention", "sliding_attention (not offered yet)");
  const Json* window = find_key(text, "sliding_window");
  if (window == nullptr || !get_bool(text, "use_sliding_window", true)) return;
  if (get_int(text, "sliding_window") < max_positions)
    config_error("sliding_window", "none: sliding-window attention is not offered yet", dump_json(*window));
}

}  // namespace

DecoderModel::DecoderModel(std::string_view architecture, const Json& config) : text_(text_config(config)) {
  hidden_size_ = get_count(text_, "hidden_size");
  intermediate_size_ = get_int(text_, "intermediate_size", 0);
  num_heads_ = get_count(text_, "num_attention_heads");
  num_kv_heads_ = get_count(text_, "num_key_value_heads", num_heads_);
  if (num_heads_ % num_kv_heads_ != 0)
    config_error("num_key_value_heads", "a divisor of num_attention_heads " + std::to_string(num_heads_),
                 std::to_string(num_kv_heads_));
  if (find_key(text_, "head_dim") == nullptr && hidden_size_ % num_heads_ != 0)
    config_error("hidden_size", "a multiple of num_attention_heads " + std::to_string(num_heads_),
                 std::to_string(hidden_size_));
  head_dim_ = get_count(text_, "head_dim", hidden_size_ / num_heads_);
  norm_eps_ = static_cast<float>(get_double(text_, "rms_norm_eps", 1e-6));
  if (!(norm_eps_ > 0)) config_error("rms_norm_eps", "a positive number", std::to_string(norm_eps_));
  const std::string act = get_string(text_, "hidden_act", "silu");
  if (act != "silu" && act != "swish") config_error("hidden_act", "silu", act);
  tied_head_ = get_bool(config, "tie_word_embeddings", get_bool(text_, "tie_word_embeddings", false));

  info_.architecture = architecture;
  info_.vocab_size = get_count(text_, "vocab_size");
  info_.hidden_size = hidden_size_;
  info_.num_layers = static_cast<int>(get_count(text_, "num_hidden_layers"));
  info_.max_position_embeddings = get_count(text_, "max_position_embeddings", 32768);
  info_.cache.num_kv_layers = info_.num_layers;
  info_.cache.num_kv_heads = num_kv_heads_;
  info_.cache.head_dim = head_dim_;
  refuse_sliding_window(text_, info_.max_position_embeddings);
  rope_inv_freq(text_, head_dim_);  // refuses what it does not offer before any weight is read
}

AttentionConfig DecoderModel::attention_config() const {
  AttentionConfig a;
  a.hidden_size = hidden_size_;
  a.num_heads = num_heads_;
  a.num_kv_heads = num_kv_heads_;
  a.head_dim = head_dim_;
  a.norm_eps = norm_eps_;
  a.zero_centred_norm = zero_centred_norms_;
  return a;
}

Tensor DecoderModel::inv_freq(Binder& b) {
  if (inv_freq_.data == nullptr) inv_freq_ = b.constant(rope_inv_freq(text_, head_dim_));
  return inv_freq_;
}

Norm DecoderModel::bind_layernorm(Binder& b, const std::string& name) const {
  return bind_norm(b, name, hidden_size_, norm_eps_, zero_centred_norms_);
}

DecoderLayer DecoderModel::bind_attention_layer(Binder& b, const std::string& prefix, const AttentionConfig& attention,
                                                int cache_index) {
  DecoderLayer l;
  l.input_layernorm = bind_layernorm(b, prefix + "input_layernorm");
  l.self_attn = bind_attention(b, prefix + "self_attn.", attention, inv_freq(b), cache_index);
  l.post_attention_layernorm = bind_layernorm(b, prefix + "post_attention_layernorm");
  return l;
}

void DecoderModel::bind(Binder& b) {
  // Multimodal checkpoints keep the language model one level down; text-only ones do not.
  const std::string model = b.has("model.language_model.embed_tokens.weight") ? "model.language_model." : "model.";
  decoder_.embed_tokens = b.matrix(model + "embed_tokens.weight", info_.vocab_size, hidden_size_);
  for (int i = 0; i < info_.num_layers; ++i)
    decoder_.layers.push_back(bind_layer(b, model + "layers." + std::to_string(i) + ".", i));
  decoder_.norm = bind_layernorm(b, model + "norm");
  if (tied_head_) {
    decoder_.lm_head = decoder_.embed_tokens;
    b.ignore_prefix("lm_head.weight");  // some files repeat the embedding under this name
  } else {
    decoder_.lm_head = b.matrix("lm_head.weight", info_.vocab_size, hidden_size_);
  }
  b.ignore_suffix(".rotary_emb.inv_freq");  // old llama files carry the table
  buffers_ = b.take_buffers();
}

}  // namespace hearth
