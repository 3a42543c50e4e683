// qwen3_5 — Qwen3.5 with dense feed-forward blocks (0.8B to 27B): gated delta net and gated attention, then an MLP.
//
//   each layer   r ← r + mixer(norm(r));   r ← r + mlp(norm(r))        norms are zero-centred: (1 + w)
//
// Source    docs/models/qwen3_5_moe.md
#include "models/common/qwen3_5.h"
#include "checkpoint/hf_config.h"

namespace hearth {
namespace {

class Qwen3_5 final : public Qwen3_5Model {
 public:
  explicit Qwen3_5(const Json& config) : Qwen3_5Model("qwen3_5", config) { get_count(text_, "intermediate_size"); }

 private:
  void bind_ffn(Binder& b, const std::string& prefix, DecoderLayer& l) override {
    l.mlp = bind_mlp(b, prefix, hidden_size_, intermediate_size_);
  }
};

}  // namespace

extern const ModelDef models_qwen3_5;
const ModelDef models_qwen3_5{"qwen3_5", {"qwen3_5", "qwen3_5_text"}, make_model<Qwen3_5>};

}  // namespace hearth
