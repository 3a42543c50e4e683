// The tiny Qwen3.5 checkpoints against the official code's numbers (tests/golden/README.md §2), on each backend.
#include <gtest/gtest.h>

#include "cli/testing/backends.h"
#include "cli/testing/goldens.h"
#include "models/testing/model_harness.h"

namespace hearth {
namespace {

constexpr double kTolerance = kGoldenTolerance;

struct Checkpoint {
  const char* name;
  const char* folder;
  const char* goldens;
};

const Checkpoint kCheckpoints[] = {{"moe_bf16", "qwen3_5_moe_tiny/bf16", "qwen3_5_moe_tiny/goldens_bf16"},
                                   {"moe_fp8", "qwen3_5_moe_tiny/fp8", "qwen3_5_moe_tiny/goldens_fp8"},
                                   {"dense_bf16", "qwen3_5_dense_tiny", "qwen3_5_dense_tiny/goldens"}};

class GoldenModel : public testing::TestWithParam<std::tuple<TestBackend, Checkpoint>> {
 protected:
  GoldenModel()
      : ops_(std::get<0>(GetParam()).make()),
        source_(open_checkpoint(golden_path(std::get<1>(GetParam()).folder))),
        model_(*source_, *ops_, {.max_seqs = 3}),
        goldens_(std::get<1>(GetParam()).goldens) {}

  std::vector<std::int32_t> ids(const std::string& prompt) const { return goldens_.ids(prompt); }
  double difference(const std::vector<float>& got, const std::string& tensor) const {
    return goldens_.difference(got, tensor);
  }
  static double difference(const std::vector<float>& got, const std::vector<float>& expected) {
    return largest_difference(got, expected);
  }

  std::unique_ptr<Ops> ops_;
  std::unique_ptr<WeightSource> source_;
  ModelHarness model_;
  Goldens goldens_;
};

TEST_P(GoldenModel, LastLogitsOfEveryPrompt) {
  for (const auto& [name, prompt] : goldens_.json["prompts"].items()) {
    const auto tokens = ids(name);
    const auto logits = model_.run(tokens, {static_cast<std::int64_t>(tokens.size())});
    EXPECT_LT(difference(logits, "last_logits." + name), kTolerance) << name;
    if (goldens_.values.find("all_logits." + name) != nullptr) {
      EXPECT_LT(difference(model_.run(tokens, {static_cast<std::int64_t>(tokens.size())}, true), "all_logits." + name),
                kTolerance)
          << name;
    }
  }
}

TEST_P(GoldenModel, HiddenStatesRouterLogitsAndCaches) {
  std::vector<std::vector<float>> hidden, router;
  model_.probe = [&](std::string_view name, Tensor t) {
    std::vector<float> copy(static_cast<std::size_t>(t.size()));
    ops_->device().copy_out(copy.data(), t.data, copy.size() * sizeof(float));
    (name == "hidden" ? hidden : router).push_back(std::move(copy));
  };
  model_.run(ids("len_65"), {65});

  const std::vector<float> expected = goldens_.values.read_f32("hidden.len_65");
  std::vector<float> got;
  for (const auto& level : hidden) got.insert(got.end(), level.begin(), level.end());
  EXPECT_LT(difference(got, expected), kTolerance);
  if (goldens_.values.find("router_logits.len_65") != nullptr) {
    got.clear();
    for (const auto& layer : router) got.insert(got.end(), layer.begin(), layer.end());
    EXPECT_LT(difference(got, "router_logits.len_65"), kTolerance);
  }

  int conv = 0, recurrent = 0, kv = 0;  // tensors compared
  int state_layer = 0, kv_layer = 0;
  for (int layer = 0; layer < model_.info().num_layers; ++layer) {
    const std::string suffix = ".len_65.layer_" + std::to_string(layer);
    const std::string type = source_->config()["text_config"]["layer_types"][static_cast<std::size_t>(layer)];
    if (type == "full_attention") {
      if (goldens_.values.find("k" + suffix) != nullptr) {
        EXPECT_LT(difference(model_.k_rows(0, kv_layer), "k" + suffix), kTolerance) << suffix;
        EXPECT_LT(difference(model_.v_rows(0, kv_layer), "v" + suffix), kTolerance) << suffix;
        ++kv;
      }
      ++kv_layer;
      continue;
    }
    if (goldens_.values.find("conv_state" + suffix) != nullptr) {
      EXPECT_LT(difference(model_.conv_state(0, state_layer), "conv_state" + suffix), kTolerance) << suffix;
      ++conv;
    }
    if (goldens_.values.find("recurrent_state" + suffix) != nullptr) {
      EXPECT_LT(difference(model_.recurrent_state(0, state_layer), "recurrent_state" + suffix), kTolerance) << suffix;
      ++recurrent;
    }
    ++state_layer;
  }
  EXPECT_EQ(kv, 1);
  EXPECT_EQ(recurrent, 1);
  EXPECT_GE(conv, 2);
}

TEST_P(GoldenModel, HiddenStatesAroundChunkBorders) {
  std::vector<float> got;
  const auto positions = goldens_.json["hidden_positions.len_130"].get<std::vector<std::int64_t>>();
  model_.probe = [&](std::string_view name, Tensor t) {
    if (name != "hidden") return;
    for (const std::int64_t p : positions) {
      std::vector<float> row(static_cast<std::size_t>(t.dim(1)));
      ops_->device().copy_out(row.data(), t.row<float>(p), row.size() * sizeof(float));
      got.insert(got.end(), row.begin(), row.end());
    }
  };
  model_.run(ids("len_130"), {130});
  EXPECT_LT(difference(got, "hidden.len_130"), kTolerance);
}

// However a prompt is cut, each row gets the same bits, and the caches end the same.
TEST_P(GoldenModel, PromptsInPieces) {
  const auto tokens = ids("len_130");
  const auto whole = model_.run(tokens, {130}, true);
  EXPECT_LT(difference({whole.end() - model_.info().vocab_size, whole.end()}, "last_logits.len_130"), kTolerance);
  const auto k = model_.k_rows(0, 0), state = model_.recurrent_state(0, 0), conv = model_.conv_state(0, 0);
  for (const std::vector<std::int64_t>& pieces :
       {std::vector<std::int64_t>{64, 66}, {1, 129}, {2, 1, 67, 60}, std::vector<std::int64_t>(130, 1)}) {
    EXPECT_EQ(difference(model_.run(tokens, pieces, true), whole), 0)
        << pieces.size() << " pieces, the first of " << pieces[0];
    EXPECT_EQ(difference(model_.k_rows(0, 0), k), 0);
    EXPECT_EQ(difference(model_.recurrent_state(0, 0), state), 0);
    EXPECT_EQ(difference(model_.conv_state(0, 0), conv), 0);
  }
}

// Sequences that share steps say what they say alone, bit for bit.
TEST_P(GoldenModel, SequencesInOneStep) {
  const auto a = ids("len_65"), b = ids("len_5"), d = ids("random_96");
  const auto V = static_cast<std::size_t>(model_.info().vocab_size);
  const auto alone_a = model_.run(a, {65}), alone_b = model_.run(b, {5}), alone_d = model_.run(d, {96});
  model_.forget(0), model_.forget(1), model_.forget(2);
  model_.step({{2, {d.begin(), d.begin() + 40}}, {0, {a.begin(), a.begin() + 7}}}, false);
  const auto second =
      model_.step({{0, {a.begin() + 7, a.end() - 1}}, {1, b}, {2, {d.begin() + 40, d.begin() + 41}}}, false);
  const auto third = model_.step({{2, {d.begin() + 41, d.end()}}, {0, {a.back()}}}, false);
  EXPECT_EQ(
      difference({second.begin() + static_cast<std::ptrdiff_t>(V), second.begin() + static_cast<std::ptrdiff_t>(2 * V)},
                 alone_b),
      0);
  EXPECT_EQ(difference({third.begin(), third.begin() + static_cast<std::ptrdiff_t>(V)}, alone_d), 0);
  EXPECT_EQ(difference({third.begin() + static_cast<std::ptrdiff_t>(V), third.end()}, alone_a), 0);
}

TEST_P(GoldenModel, GreedyContinuations) {
  for (const auto& [name, prompt] : goldens_.json["prompts"].items()) {
    const auto expected = goldens_.greedy(name);
    if (expected.empty()) continue;
    const auto tokens = ids(name);
    std::vector<std::int32_t> got;
    std::vector<float> logits = model_.run(tokens, {static_cast<std::int64_t>(tokens.size())});
    while (got.size() < expected.size()) {
      got.push_back(argmax(logits));
      logits = model_.step({{0, {got.back()}}}, false);
    }
    EXPECT_EQ(got, expected) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenModel,
                         testing::Combine(testing::ValuesIn(kTestBackends), testing::ValuesIn(kCheckpoints)),
                         [](const auto& i) {
                           return std::string(std::get<0>(i.param).name) + "_" + std::get<1>(i.param).name;
                         });

}  // namespace
}  // namespace hearth
