// qwen3 — Qwen3 dense: grouped-query attention with a norm on each head of q and k, and an MLP.
//
//   each layer   r ← r + attention(norm(r));   r ← r + mlp(norm(r))        head_dim need not be D / H
//
// Source    Qwen3 Technical Report, arXiv:2505.09388
#include "checkpoint/hf_config.h"
#include "models/common/decoder_model.h"

namespace hearth {
namespace {

class Qwen3 final : public DecoderModel {
 public:
  explicit Qwen3(const Json& config) : DecoderModel("qwen3", config) {
    get_count(text_, "intermediate_size");
    attention_bias_ = get_bool(text_, "attention_bias", false);
  }

 private:
  DecoderLayer bind_layer(Binder& b, const std::string& prefix, int i) override {
    AttentionConfig a = attention_config();
    a.qk_norm = true;
    a.qkv_bias = a.o_bias = attention_bias_;
    DecoderLayer l = bind_attention_layer(b, prefix, a, i);
    l.mlp = bind_mlp(b, prefix + "mlp.", hidden_size_, intermediate_size_);
    return l;
  }

  bool attention_bias_ = false;
};

}  // namespace

extern const ModelDef models_qwen3;
const ModelDef models_qwen3{"qwen3", {"qwen3"}, make_model<Qwen3>};

}  // namespace hearth
