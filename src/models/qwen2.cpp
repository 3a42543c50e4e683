// qwen2 — Qwen2 and Qwen2.5: llama with biases on q, k and v.
//
//   each layer   r ← r + attention(norm(r));   r ← r + mlp(norm(r))
//
// Source    Qwen2 Technical Report, arXiv:2407.10671
#include "checkpoint/hf_config.h"
#include "models/common/decoder_model.h"

namespace hearth {
namespace {

class Qwen2 final : public DecoderModel {
 public:
  explicit Qwen2(const Json& config) : DecoderModel("qwen2", config) { get_count(text_, "intermediate_size"); }

 private:
  DecoderLayer bind_layer(Binder& b, const std::string& prefix, int i) override {
    AttentionConfig a = attention_config();
    a.qkv_bias = true;
    DecoderLayer l = bind_attention_layer(b, prefix, a, i);
    l.mlp = bind_mlp(b, prefix + "mlp.", hidden_size_, intermediate_size_);
    return l;
  }
};

}  // namespace

extern const ModelDef models_qwen2;
const ModelDef models_qwen2{"qwen2", {"qwen2"}, make_model<Qwen2>};

}  // namespace hearth
