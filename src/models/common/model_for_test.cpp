#include <gtest/gtest.h>

#include "base/status.h"
#include "models/model_def.h"

namespace hearth {
namespace {

Json llama_config() {
  return {
      {"model_type", "llama"},    {"hidden_size", 64},      {"intermediate_size", 96}, {"num_attention_heads", 4},
      {"num_key_value_heads", 2}, {"num_hidden_layers", 3}, {"vocab_size", 100},       {"max_position_embeddings", 512},
      {"rms_norm_eps", 1e-5},     {"rope_theta", 10000.0}};
}

Json qwen3_5_config() {
  return {{"model_type", "qwen3_5"},
          {"text_config",
           {{"hidden_size", 64},
            {"intermediate_size", 96},
            {"num_attention_heads", 4},
            {"num_key_value_heads", 2},
            {"head_dim", 32},
            {"num_hidden_layers", 8},
            {"vocab_size", 100},
            {"full_attention_interval", 4},
            {"linear_num_key_heads", 2},
            {"linear_num_value_heads", 4},
            {"linear_key_head_dim", 16},
            {"linear_value_head_dim", 24},
            {"rope_parameters", {{"rope_type", "default"}, {"rope_theta", 1e7}, {"partial_rotary_factor", 0.25}}}}}};
}

// where, and what, of the StartupError that making the model throws.
std::string refusal(const Json& config) {
  try {
    model_for(config).make(config);
    return "taken";
  } catch (const StartupError& e) {
    return e.where() + ": " + e.what();
  }
}

TEST(ModelFor, UnknownArchitectureListsTheKnownOnes) {
  try {
    model_for({{"model_type", "gpt_neox"}});
    FAIL() << "taken";
  } catch (const StartupError& e) {
    EXPECT_STREQ(e.what(), "model_type gpt_neox is not known");
    EXPECT_EQ(e.hint(),
              "known: llama, mistral, qwen2, qwen3, qwen3_5, qwen3_5_text, qwen3_5_moe, qwen3_5_moe_text, qwen3_moe");
  }
  EXPECT_THROW(model_for(Json::object()), StartupError);
}

TEST(ModelFor, LlamaGeometry) {
  const Json config = llama_config();
  const ModelInfo info = model_for(config).make(config)->info();
  EXPECT_EQ(info.architecture, "llama");
  EXPECT_EQ(info.cache.head_dim, 16);
  EXPECT_EQ(info.cache.kv_elems_per_token(), 2 * 3 * 2 * 16);
  EXPECT_EQ(info.cache.state_bytes_per_slot(), 0);
}

TEST(ModelFor, HybridGeometry) {  // layers 3 and 7 are full attention
  const Json config = qwen3_5_config();
  const ModelInfo info = model_for(config).make(config)->info();
  EXPECT_EQ(info.cache.num_kv_layers, 2);
  EXPECT_EQ(info.cache.num_state_layers, 6);
  EXPECT_EQ(info.cache.conv_channels, 2 * 2 * 16 + 4 * 24);
  EXPECT_EQ(info.cache.state_bytes_per_slot(), 6 * 4 * (3 * 160 + 4 * 16 * 24));
}

TEST(ModelFor, RefusesByName) {
  Json c = llama_config();
  c["model_type"] = "mistral";
  c["sliding_window"] = 256;
  EXPECT_EQ(refusal(c),
            "config.json: sliding_window: expected none: sliding-window attention is not offered yet, found 256");
  c["sliding_window"] = 512;  // no context is longer
  EXPECT_EQ(refusal(c), "taken");
  c = llama_config();
  c["hidden_act"] = "gelu";
  EXPECT_EQ(refusal(c), "config.json: hidden_act: expected silu, found gelu");
  c = llama_config();
  c["num_key_value_heads"] = 3;
  EXPECT_EQ(refusal(c), "config.json: num_key_value_heads: expected a divisor of num_attention_heads 4, found 3");
  c = qwen3_5_config();
  c["text_config"]["linear_conv_kernel_dim"] = 3;
  EXPECT_EQ(refusal(c), "config.json: linear_conv_kernel_dim: expected 4, found 3");
  c = qwen3_5_config();
  c["text_config"]["layer_types"] = {"linear_attention"};
  EXPECT_EQ(refusal(c), "config.json: layer_types: expected 8 entries, found [\"linear_attention\"]");
}

}  // namespace
}  // namespace hearth
