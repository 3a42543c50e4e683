// llama — Llama 2 and 3, SmolLM2, Mistral without a sliding window: grouped-query attention and an MLP, no norms on q and k.
//
//   each layer   r ← r + attention(norm(r));   r ← r + mlp(norm(r))
//
// Source    LLaMA, arXiv:2302.13971; The Llama 3 Herd of Models, arXiv:2407.21783; Mistral 7B, arXiv:2310.06825
#include "checkpoint/hf_config.h"
#include "models/common/decoder_model.h"

namespace hearth {
namespace {

class Llama final : public DecoderModel {
 public:
  explicit Llama(const Json& config) : DecoderModel("llama", config) {
    get_count(text_, "intermediate_size");
    if (get_bool(text_, "mlp_bias", false)) config_error("mlp_bias", "false", "true");
    const std::int64_t slices = get_int(text_, "pretraining_tp", 1);
    if (slices != 1) config_error("pretraining_tp", "1", std::to_string(slices));
    attention_bias_ = get_bool(text_, "attention_bias", false);
  }

 private:
  DecoderLayer bind_layer(Binder& b, const std::string& prefix, int i) override {
    AttentionConfig a = attention_config();
    a.qkv_bias = a.o_bias = attention_bias_;
    DecoderLayer l = bind_attention_layer(b, prefix, a, i);
    l.mlp = bind_mlp(b, prefix + "mlp.", hidden_size_, intermediate_size_);
    return l;
  }

  bool attention_bias_ = false;
};

}  // namespace

extern const ModelDef models_llama;
const ModelDef models_llama{"llama", {"llama", "mistral"}, make_model<Llama>};

}  // namespace hearth
