// qwen3_5_moe — Qwen3.5 and Qwen3.6 with experts (35B-A3B, 122B-A10B, 397B-A17B).
//
//   r = embed[ids]
//   each layer   r ← r + mixer(norm(r))      mixer = gated attention in one layer of four, else gated delta net
//                r ← r + moe(norm(r))        top-A of E experts, renormalised, plus one shared expert behind a sigmoid gate
//   logits = norm(r) · Wheadᵀ                norms are zero-centred: (1 + w)
//
// Source    docs/models/qwen3_5_moe.md
#include "checkpoint/hf_config.h"
#include "models/common/qwen3_5.h"

namespace hearth {
namespace {

class Qwen3_5Moe final : public Qwen3_5Model {
 public:
  explicit Qwen3_5Moe(const Json& config) : Qwen3_5Model("qwen3_5_moe", config) {
    moe_ = {hidden_size_,
            get_num_experts(text_),
            get_count(text_, "num_experts_per_tok"),
            get_count(text_, "moe_intermediate_size"),
            get_count(text_, "shared_expert_intermediate_size"),
            true};
    if (moe_.num_experts_per_tok > moe_.num_experts)
      config_error("num_experts_per_tok", "at most num_experts " + std::to_string(moe_.num_experts),
                   std::to_string(moe_.num_experts_per_tok));
  }

 private:
  void bind_ffn(Binder& b, const std::string& prefix, DecoderLayer& l) override { l.moe = bind_moe(b, prefix, moe_); }

  MoeConfig moe_;
};

}  // namespace

extern const ModelDef models_qwen3_5_moe;
const ModelDef models_qwen3_5_moe{"qwen3_5_moe", {"qwen3_5_moe", "qwen3_5_moe_text"}, make_model<Qwen3_5Moe>};

}  // namespace hearth
