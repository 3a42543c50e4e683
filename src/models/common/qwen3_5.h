// qwen3_5.h — what the dense and the expert form of Qwen3.5 share: the hybrid of gated delta net and gated attention.
#pragma once

#include <string_view>
#include <vector>

#include "models/common/decoder_model.h"

namespace hearth {

class Qwen3_5Model : public DecoderModel {
 protected:
  Qwen3_5Model(std::string_view architecture, const Json& config);
  DecoderLayer bind_layer(Binder& b, const std::string& prefix, int layer) final;
  virtual void bind_ffn(Binder& b, const std::string& prefix, DecoderLayer& layer) = 0;  // prefix "….mlp."

 private:
  std::vector<bool> linear_;      // by layer: gated delta net, else gated attention
  std::vector<int> cache_index_;  // by layer: the how-manieth of its kind
  GatedDeltaNetConfig gdn_;
};

}  // namespace hearth
