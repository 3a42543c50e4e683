// Whole models from both containers, on each backend: the tiny random checkpoints of llama, qwen2, qwen3 and qwen3_moe from
// their folder and as GGUF, and the trained tiny Qwen3.5 checkpoints as GGUF (tests/golden/README.md §7 and §2).
//
// Tolerance 1e-4 absolute, as for every f32 computation there; the GGUF forms hold the same numbers in F32 or BF16.
#include <gtest/gtest.h>

#include <cmath>
#include <optional>

#include "checkpoint/json_file.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/testing/hf_to_gguf.h"
#include "checkpoint/testing/temp_dir.h"
#include "cli/testing/backends.h"
#include "models/testing/model_harness.h"

namespace hearth {
namespace {

constexpr double kTolerance = 1e-4;

struct Form {
  const char* name;
  const char* folder;
  const char* goldens;
  std::optional<Format> gguf;   // empty: the folder itself
};

class GoldenForm : public testing::TestWithParam<std::tuple<TestBackend, Form>> {
 protected:
  GoldenForm()
      : form_(std::get<1>(GetParam())), ops_(std::get<0>(GetParam()).make()), source_(open()), model_(*source_, *ops_),
        values_(golden(form_.goldens) + "/goldens.safetensors"), json_(read_json_file(golden(form_.goldens) + "/goldens.json")) {}

  static std::string golden(const std::string& name) { return std::string(HEARTH_GOLDEN) + "/" + name; }

  std::unique_ptr<WeightSource> open() const {
    std::unique_ptr<WeightSource> hf = open_checkpoint(golden(form_.folder));
    if (!form_.gguf) return hf;
    write_gguf_from_hf(*hf, dir_ / "m.gguf", {.matrices = *form_.gguf, .tokenizer_folder = {}});
    return open_checkpoint(dir_ / "m.gguf");
  }

  std::vector<float> logits(const std::string& prompt, bool all_rows) {
    const auto ids = json_["prompts"][prompt]["ids"].get<std::vector<std::int32_t>>();
    return model_.run(ids, {static_cast<std::int64_t>(ids.size())}, all_rows);
  }

  double difference(const std::vector<float>& got, const std::string& tensor) const {
    const std::vector<float> expected = values_.read_f32(tensor);
    EXPECT_EQ(got.size(), expected.size());
    double largest = 0;
    for (std::size_t i = 0; i < std::min(got.size(), expected.size()); ++i) {
      const double d = std::fabs(static_cast<double>(got[i]) - static_cast<double>(expected[i]));
      if (!(d <= largest)) largest = d;  // also takes a NaN
    }
    return largest;
  }

  Form form_;
  TempDir dir_;
  std::unique_ptr<Ops> ops_;
  std::unique_ptr<WeightSource> source_;
  ModelHarness model_;
  SafetensorsFile values_;
  Json json_;
};

TEST_P(GoldenForm, Logits) {
  for (const auto& [name, prompt] : json_["prompts"].items()) {
    EXPECT_LT(difference(logits(name, false), "last_logits." + name), kTolerance) << name;
    if (values_.find("all_logits." + name) != nullptr) {
      EXPECT_LT(difference(logits(name, true), "all_logits." + name), kTolerance) << name;
    }
  }
}

TEST_P(GoldenForm, GreedyContinuations) {
  for (const char* name : {"len_1", "len_65"}) {
    const auto expected = json_["prompts"][name]["greedy"].get<std::vector<std::int32_t>>();
    std::vector<std::int32_t> got;
    std::vector<float> row = logits(name, false);
    while (got.size() < expected.size()) {
      got.push_back(argmax(row));
      row = model_.step({{0, {got.back()}}}, false);
    }
    EXPECT_EQ(got, expected) << name;
  }
}

const Form kForms[] = {
    {"llama", "tiny_llama", "tiny_llama/goldens", {}},
    {"llama_gguf", "tiny_llama", "tiny_llama/goldens", Format::bf16},
    {"qwen2", "tiny_qwen2", "tiny_qwen2/goldens", {}},
    {"qwen2_gguf", "tiny_qwen2", "tiny_qwen2/goldens", Format::bf16},
    {"qwen3", "tiny_qwen3", "tiny_qwen3/goldens", {}},
    {"qwen3_gguf", "tiny_qwen3", "tiny_qwen3/goldens", Format::f32},
    {"qwen3_moe", "tiny_qwen3_moe", "tiny_qwen3_moe/goldens", {}},
    {"qwen3_moe_gguf", "tiny_qwen3_moe", "tiny_qwen3_moe/goldens", Format::bf16},
    {"qwen3_5_gguf", "qwen3_5_dense_tiny", "qwen3_5_dense_tiny/goldens", Format::bf16},
    {"qwen3_5_moe_gguf", "qwen3_5_moe_tiny/bf16", "qwen3_5_moe_tiny/goldens_bf16", Format::bf16},
    {"qwen3_5_moe_from_fp8_gguf", "qwen3_5_moe_tiny/fp8", "qwen3_5_moe_tiny/goldens_fp8", Format::f32},
};

INSTANTIATE_TEST_SUITE_P(All, GoldenForm, testing::Combine(testing::ValuesIn(kTestBackends), testing::ValuesIn(kForms)),
                         [](const auto& i) { return std::string(std::get<0>(i.param).name) + "_" + std::get<1>(i.param).name; });

}  // namespace
}  // namespace hearth
