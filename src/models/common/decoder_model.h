// decoder_model.h — what architecture files share: reading the usual configuration keys, binding layer by layer, running
// the decoder.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "models/model_def.h"
#include "nn/binder.h"
#include "nn/decoder.h"

namespace hearth {

class DecoderModel : public Model {
 public:
  const ModelInfo& info() const override { return info_; }
  void bind(Binder& binder) final;
  Tensor forward(Ctx& c, const StepInput& in, StepCaches& caches) final {
    return decoder_forward(c, decoder_, in, caches);
  }

 protected:
  // Reads sizes from the language model's part of the configuration; refuses what no model here computes (activation, window).
  DecoderModel(std::string_view architecture, const Json& config);

  // One layer; prefix ends in ".": "model.layers.3.".
  virtual DecoderLayer bind_layer(Binder& b, const std::string& prefix, int layer) = 0;

  AttentionConfig attention_config() const;  // H, G, K, D and eps of the configuration; no norms, no biases
  // The frequencies of the configuration, placed once and shared by all layers.
  Tensor inv_freq(Binder& b);
  Norm bind_layernorm(Binder& b, const std::string& name) const;
  // A layer's two norms and its attention, cache `cache_index`; the feed-forward block is still to be bound.
  DecoderLayer bind_attention_layer(Binder& b, const std::string& prefix, const AttentionConfig& attention,
                                    int cache_index);

  Json text_;                                             // the language model's part
  std::int64_t hidden_size_ = 0, intermediate_size_ = 0;  // D, F (0 when absent)
  std::int64_t num_heads_ = 0, num_kv_heads_ = 0, head_dim_ = 0;
  float norm_eps_ = 0;
  bool zero_centred_norms_ = false;  // (1 + w)
  ModelInfo info_;

 private:
  bool tied_head_ = false;
  Decoder decoder_;
  Tensor inv_freq_;
  std::vector<std::shared_ptr<Buffer>> buffers_;
};

template <class M>
std::unique_ptr<Model> make_model(const Json& config) {
  return std::make_unique<M>(config);
}

}  // namespace hearth
