// qwen3_moe — Qwen3 with experts (30B-A3B, 235B-A22B): attention as in qwen3; experts without a shared one.
//
//   each layer   r ← r + attention(norm(r));   r ← r + ffn(norm(r))
//   ffn = moe, or an MLP in the layers of mlp_only_layers and those that decoder_sparse_step leaves out
//
// Source    Qwen3 Technical Report, arXiv:2505.09388
#include <algorithm>

#include "checkpoint/hf_config.h"
#include "models/common/decoder_model.h"

namespace hearth {
namespace {

class Qwen3Moe final : public DecoderModel {
 public:
  explicit Qwen3Moe(const Json& config) : DecoderModel("qwen3_moe", config) {
    attention_bias_ = get_bool(text_, "attention_bias", false);
    moe_.hidden_size = hidden_size_;
    moe_.num_experts = get_num_experts(text_);
    moe_.num_experts_per_tok = get_count(text_, "num_experts_per_tok");
    moe_.intermediate_size = get_count(text_, "moe_intermediate_size");
    moe_.renormalise = get_bool(text_, "norm_topk_prob", false);
    if (moe_.num_experts_per_tok > moe_.num_experts)
      config_error("num_experts_per_tok", "at most num_experts " + std::to_string(moe_.num_experts),
                   std::to_string(moe_.num_experts_per_tok));
    const std::int64_t step = get_count(text_, "decoder_sparse_step", 1);
    const Json* dense = find_key(text_, "mlp_only_layers");
    for (int i = 0; i < info_.num_layers; ++i)
      sparse_.push_back((i + 1) % step == 0 &&
                        (dense == nullptr || std::find(dense->begin(), dense->end(), i) == dense->end()));
    if (std::find(sparse_.begin(), sparse_.end(), false) != sparse_.end()) get_count(text_, "intermediate_size");
  }

 private:
  DecoderLayer bind_layer(Binder& b, const std::string& prefix, int i) override {
    AttentionConfig a = attention_config();
    a.qk_norm = true;
    a.qkv_bias = a.o_bias = attention_bias_;
    DecoderLayer l = bind_attention_layer(b, prefix, a, i);
    if (sparse_[static_cast<std::size_t>(i)])
      l.moe = bind_moe(b, prefix + "mlp.", moe_);
    else
      l.mlp = bind_mlp(b, prefix + "mlp.", hidden_size_, intermediate_size_);
    return l;
  }

  bool attention_bias_ = false;
  MoeConfig moe_;
  std::vector<bool> sparse_;
};

}  // namespace

extern const ModelDef models_qwen3_moe;
const ModelDef models_qwen3_moe{"qwen3_moe", {"qwen3_moe"}, make_model<Qwen3Moe>};

}  // namespace hearth
