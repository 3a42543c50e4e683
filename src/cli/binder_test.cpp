// The account that a binder keeps, on the tiny llama checkpoint with one thing wrong each time.
#include <gtest/gtest.h>

#include "backend/ref/ref_ops.h"
#include "base/status.h"
#include "cli/testing/goldens.h"
#include "models/model_def.h"
#include "nn/binder.h"

namespace hearth {
namespace {

class AlteredSource final : public WeightSource {
 public:
  explicit AlteredSource(const std::string& folder)
      : inner_(open_checkpoint(golden_path(folder))), tensors_(inner_->tensors()) {}
  std::vector<SourceTensor>& list() { return tensors_; }
  SourceTensor& at(std::string_view name) {
    return *std::find_if(tensors_.begin(), tensors_.end(), [&](const auto& t) { return t.name == name; });
  }
  const std::vector<SourceTensor>& tensors() const override { return tensors_; }
  const SourceTensor* find(std::string_view name) const override {
    for (const SourceTensor& t : tensors_)
      if (t.name == name) return &t;
    return nullptr;
  }
  void read_range(const SourceTensor& t, std::int64_t offset, std::span<std::byte> dst) override {
    inner_->read_range(*inner_->find(t.name), offset, dst);
    if (t.name == all_ones) std::fill(dst.begin(), dst.end(), std::byte{0xff});  // NaN in every float format
  }
  const Json& config() const override { return inner_->config(); }
  const Json& generation_config() const override { return inner_->generation_config(); }
  std::string where(const SourceTensor&) const override { return "model.safetensors"; }

  std::string all_ones;

 private:
  std::unique_ptr<WeightSource> inner_;
  std::vector<SourceTensor> tensors_;
};

std::string bind(WeightSource& source, std::int64_t* bytes = nullptr) {
  RefOps ops;
  const auto model = model_for(source.config()).make(source.config());
  Binder binder(source, ops, [&](std::int64_t n) {
    if (bytes != nullptr) *bytes += n;
  });
  try {
    model->bind(binder);
    binder.finish();
    return "bound";
  } catch (const StartupError& e) {
    return e.where() + ": " + e.what();
  }
}

TEST(Binder, TakesEveryByteOnce) {
  AlteredSource source("tiny_llama");
  std::int64_t bytes = 0, expected = 0;
  for (const SourceTensor& t : source.tensors()) expected += t.bytes;
  EXPECT_EQ(bind(source, &bytes), "bound");
  EXPECT_EQ(bytes, expected);
}

TEST(Binder, NamesWhatIsMissingMisshapenOrLeftOver) {
  AlteredSource missing("tiny_llama");
  missing.at("model.layers.1.mlp.up_proj.weight").name = "model.layers.1.mlp.up.weight";
  EXPECT_EQ(bind(missing), "checkpoint: the checkpoint has no tensor model.layers.1.mlp.up_proj.weight");

  AlteredSource misshapen("tiny_llama");
  misshapen.at("model.layers.0.self_attn.q_proj.weight").shape = {64, 128};
  EXPECT_EQ(bind(misshapen),
            "model.safetensors: tensor model.layers.0.self_attn.q_proj.weight is bf16 [64, 128], the model expects "
            "floating-point [128, 64]");

  AlteredSource extra("tiny_llama");
  extra.list().push_back(extra.at("model.norm.weight"));
  extra.list().back().name = "model.layers.0.self_attn.sinks";
  EXPECT_EQ(
      bind(extra),
      "model.safetensors: 1 tensor of the checkpoint belongs to nothing in this model: model.layers.0.self_attn.sinks");
}

TEST(Binder, NanAmongTheScalesNamesTheTensor) {
  AlteredSource source("qwen3_5_moe_tiny/fp8");
  EXPECT_EQ(bind(source), "bound");
  source.all_ones = "model.language_model.layers.1.mlp.experts.3.up_proj.weight_scale_inv";
  const std::string error = bind(source);
  EXPECT_NE(error.find(source.all_ones), std::string::npos) << error;
}

}  // namespace
}  // namespace hearth
