// A GGUF written from a Hugging Face checkpoint and read back is that checkpoint: same names, shapes and numbers.
#include "checkpoint/gguf_source.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"
#include "checkpoint/fp8_scales.h"
#include "checkpoint/gguf.h"
#include "checkpoint/hf_config.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/testing/hf_to_gguf.h"
#include "checkpoint/testing/temp_dir.h"
#include "quant/fp8_block128.h"

namespace hearth {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<float> read_all(WeightSource& source, const SourceTensor& t) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes));
  source.read(t, bytes);
  std::int64_t n = 1;
  for (std::int64_t d : t.shape) n *= d;
  std::vector<float> x(static_cast<std::size_t>(n));
  if (t.format == Format::f8_e4m3) {
    dequantize_fp8_block128(bytes.data(), read_fp8_scales(source, t).data(), t.shape[0], t.shape[1], x.data());
  } else {
    format_info(t.format).dequantize(bytes.data(), n, x.data());
  }
  return x;
}

std::vector<float> read_all(WeightSource& source, const std::string& name) {
  const SourceTensor* t = source.find(name);
  EXPECT_NE(t, nullptr) << name;
  return t == nullptr ? std::vector<float>{} : read_all(source, *t);
}

// --- llama, by hand: one layer, hidden 4, 2 query heads and 1 KV head of width 4 ---------------------------------------

GgufMetadata llama_metadata() {
  return {{"general.architecture", std::string("llama")},
          {"llama.block_count", std::int64_t{1}},
          {"llama.context_length", std::int64_t{64}},
          {"llama.embedding_length", std::int64_t{4}},
          {"llama.feed_forward_length", std::int64_t{6}},
          {"llama.attention.head_count", std::int64_t{2}},
          {"llama.attention.head_count_kv", std::int64_t{1}},
          {"llama.attention.key_length", std::int64_t{4}},
          {"llama.attention.value_length", std::int64_t{4}},
          {"llama.attention.layer_norm_rms_epsilon", 0.5},
          {"llama.rope.freq_base", 500000.0},
          {"tokenizer.ggml.eos_token_id", std::int64_t{2}},
          {"tokenizer.ggml.eot_token_id", std::int64_t{3}}};
}

GgufOutTensor f32(const std::string& name, std::vector<std::int64_t> shape, const std::vector<float>& x) {
  GgufOutTensor t{name, Format::f32, std::move(shape), std::vector<std::byte>(x.size() * 4)};
  format_info(Format::f32).quantize(x.data(), static_cast<std::int64_t>(x.size()), t.data.data());
  return t;
}

std::vector<float> rows_numbered(int rows, int cols) {
  std::vector<float> x;
  for (int r = 0; r < rows; ++r) x.insert(x.end(), static_cast<std::size_t>(cols), static_cast<float>(r));
  return x;
}

TEST(GgufSource, LlamaByHand) {
  TempDir dir;
  write_gguf(
      dir / "m.gguf", llama_metadata(),
      {f32("token_embd.weight", {8, 4}, rows_numbered(8, 4)), f32("output_norm.weight", {4}, {1, 2, 3, 4}),
       f32("blk.0.attn_q.weight", {8, 4}, rows_numbered(8, 4)), f32("blk.0.attn_q.bias", {8}, {0, 1, 2, 3, 4, 5, 6, 7}),
       f32("blk.0.attn_k.weight", {4, 4}, rows_numbered(4, 4)), f32("blk.0.attn_v.weight", {4, 4}, rows_numbered(4, 4)),
       f32("rope_freqs.weight", {2}, {1, 8}), f32("blk.0.surprise.weight", {1}, {0})});
  const auto source = open_checkpoint(dir / "m.gguf");
  const Json& c = source->config();
  EXPECT_EQ(c["model_type"], "llama");
  EXPECT_EQ(c["architectures"][0], "LlamaForCausalLM");
  EXPECT_EQ(c["hidden_size"], 4);
  EXPECT_EQ(c["num_hidden_layers"], 1);
  EXPECT_EQ(c["num_key_value_heads"], 1);
  EXPECT_EQ(c["head_dim"], 4);
  EXPECT_EQ(c["intermediate_size"], 6);
  EXPECT_EQ(c["vocab_size"], 8);
  EXPECT_EQ(c["rms_norm_eps"], 0.5);
  EXPECT_EQ(c["rope_parameters"]["rope_theta"], 500000.0);
  EXPECT_EQ(c["rope_freq_factors"], Json({1.0, 8.0}));
  EXPECT_EQ(c["tie_word_embeddings"], true);
  EXPECT_EQ(c["attention_bias"], true);
  EXPECT_EQ(source->generation_config()["eos_token_id"], Json({2, 3}));

  // File rows of a head are 2i + s; Hugging Face rows are s · 2 + i.
  const std::vector<float> q = read_all(*source, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_THAT((std::vector{q[0], q[4], q[8], q[12], q[16], q[20], q[24], q[28]}), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  EXPECT_THAT(read_all(*source, "model.layers.0.self_attn.q_proj.bias"), ElementsAre(0, 2, 1, 3, 4, 6, 5, 7));
  std::vector<float> some(4 * 4);  // rows 2 … 5, the ends of two heads
  source->read_range(*source->find("model.layers.0.self_attn.q_proj.weight"), 2 * 16,
                     std::as_writable_bytes(std::span(some)));
  EXPECT_THAT((std::vector{some[0], some[4], some[8], some[12]}), ElementsAre(1, 3, 4, 6));
  const std::vector<float> k = read_all(*source, "model.layers.0.self_attn.k_proj.weight");
  EXPECT_THAT((std::vector{k[0], k[4], k[8], k[12]}), ElementsAre(0, 2, 1, 3));
  const std::vector<float> v = read_all(*source, "model.layers.0.self_attn.v_proj.weight");
  EXPECT_THAT((std::vector{v[0], v[4], v[8], v[12]}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(read_all(*source, "model.norm.weight"), ElementsAre(1, 2, 3, 4));
  EXPECT_EQ(source->find("lm_head.weight"), nullptr);
  EXPECT_EQ(source->find("rope_freqs.weight"), nullptr);
  EXPECT_NE(source->find("blk.0.surprise.weight"), nullptr);  // keeps its name, so that binding says it is left over
}

TEST(GgufSource, RefusesMetadataThatDoesNotFit) {
  TempDir dir;
  const auto error = [&](const std::string& key, std::optional<GgufValue> value,
                         std::vector<GgufOutTensor> extra = {}) {
    GgufMetadata m = llama_metadata();
    std::erase_if(m, [&](const auto& kv) { return kv.first == key; });
    if (value) m.emplace_back(key, *value);
    std::vector<GgufOutTensor> tensors{f32("token_embd.weight", {8, 4}, rows_numbered(8, 4))};
    for (GgufOutTensor& t : extra) tensors.push_back(std::move(t));
    write_gguf(dir / "m.gguf", m, tensors);
    return startup_error([&] { open_checkpoint(dir / "m.gguf"); });
  };
  EXPECT_EQ(error("x", {}), "");
  EXPECT_THAT(error("general.architecture", GgufValue(std::string("gemma3"))),
              AllOf(HasSubstr("llama, qwen2, qwen3"), HasSubstr("found \"gemma3\"")));
  EXPECT_THAT(error("llama.embedding_length", {}),
              AllOf(HasSubstr("llama.embedding_length"), HasSubstr("no such key")));
  EXPECT_THAT(error("llama.block_count", GgufValue(std::int64_t{0})), HasSubstr("from 1"));
  EXPECT_THAT(error("llama.block_count", GgufValue(std::int64_t{2000000000})), HasSubstr("to 1073741824"));
  EXPECT_THAT(error("llama.block_count", GgufValue(std::int64_t{1000000000})), HasSubstr("at most one block a tensor"));
  EXPECT_THAT(error("llama.attention.head_count", GgufValue(std::int64_t{0})), HasSubstr("from 1"));
  EXPECT_THAT(error("llama.attention.head_count", GgufValue(std::vector<std::int64_t>{2, 4})),
              HasSubstr("one number for all layers"));
  EXPECT_EQ(error("llama.attention.head_count", GgufValue(std::vector<std::int64_t>{2, 2})), "");
  EXPECT_THAT(error("llama.attention.value_length", GgufValue(std::int64_t{8})), HasSubstr("attention.key_length 4"));
  EXPECT_THAT(error("llama.expert_count", GgufValue(std::int64_t{8})), HasSubstr("no experts"));
  EXPECT_THAT(error("llama.rope.scaling.type", GgufValue(std::string("longrope"))), HasSubstr("longrope"));
  EXPECT_THAT(error("llama.rope.dimension_count", GgufValue(std::int64_t{8})), HasSubstr("at most the head's width 4"));
  EXPECT_THAT(error("x", {}, {f32("blk.0.attn_q.weight", {6, 4}, rows_numbered(6, 4))}), HasSubstr("rows for 2 heads"));
  TempDir vocab;
  write_gguf(vocab / "v.gguf", llama_metadata(), {});
  EXPECT_THAT(startup_error([&] { open_checkpoint(vocab / "v.gguf"); }), HasSubstr("token_embd.weight"));
}

// --- the tiny Qwen3.5 checkpoints through GGUF and back -----------------------------------------------------------------

class Tiny : public testing::TestWithParam<std::string> {};

// Undoes the tiling of value heads: rows from first on.
void untile(std::vector<float>& x, std::int64_t rows, std::int64_t first, std::int64_t width, std::int64_t nk,
            std::int64_t nv) {
  const std::vector<float> old = x;
  const auto cols = static_cast<std::int64_t>(x.size()) / rows;
  for (std::int64_t r = first; r < rows; ++r) {
    const std::int64_t head = (r - first) / width;  // g · n + j
    const std::int64_t n = nv / nk;
    const std::int64_t tiled = head % n * nk + head / n;  // j · Nk + g
    const std::int64_t from = first + tiled * width + (r - first) % width;
    for (std::int64_t c = 0; c < cols; ++c)
      x[static_cast<std::size_t>(r * cols + c)] = old[static_cast<std::size_t>(from * cols + c)];
  }
}

TEST_P(Tiny, IsTheSameCheckpoint) {
  TempDir dir;
  const std::string folder = std::string(HEARTH_GOLDEN) + "/" + GetParam();
  const auto hf = open_checkpoint(folder);
  write_gguf_from_hf(*hf, dir / "m.gguf", {.matrices = Format::f32, .tokenizer_folder = folder});
  const auto gguf = open_checkpoint(dir / "m.gguf");

  const Json& a = text_config(hf->config());
  const Json& b = text_config(gguf->config());
  EXPECT_EQ(gguf->config()["model_type"], hf->config()["model_type"]);
  for (const char* key : {"hidden_size",
                          "num_hidden_layers",
                          "num_attention_heads",
                          "num_key_value_heads",
                          "head_dim",
                          "vocab_size",
                          "max_position_embeddings",
                          "layer_types",
                          "full_attention_interval",
                          "linear_conv_kernel_dim",
                          "linear_key_head_dim",
                          "linear_num_key_heads",
                          "linear_num_value_heads",
                          "linear_value_head_dim",
                          "tie_word_embeddings",
                          "num_experts",
                          "num_experts_per_tok",
                          "moe_intermediate_size",
                          "shared_expert_intermediate_size",
                          "intermediate_size",
                          "mtp_num_hidden_layers",
                          "rope_parameters"}) {
    if (!a.contains(key)) continue;
    if (std::string_view(key) == "rope_parameters") {
      for (const auto& [k, v] : a[key].items()) EXPECT_EQ(b[key][k], v) << k;
    } else {
      EXPECT_EQ(b[key], a[key]) << key;
    }
  }
  EXPECT_EQ(b["linear_value_head_order"], "tiled");
  EXPECT_NEAR(get_double(b, "rms_norm_eps"), get_double(a, "rms_norm_eps"), 1e-12);

  const std::int64_t nk = get_int(a, "linear_num_key_heads"), nv = get_int(a, "linear_num_value_heads");
  const std::int64_t dv = get_int(a, "linear_value_head_dim"), keys = 2 * nk * get_int(a, "linear_key_head_dim");
  std::size_t compared = 0;
  for (const SourceTensor& t : hf->tensors()) {
    if (t.name.starts_with("model.visual.") || t.name.ends_with("_scale_inv")) continue;
    std::string name = t.name;
    if (const auto at = name.find("language_model."); at != std::string::npos) name.erase(at, 15);
    SCOPED_TRACE(name);
    const SourceTensor* got = gguf->find(name);
    ASSERT_NE(got, nullptr);
    EXPECT_EQ(got->shape, t.shape);
    const std::vector<float> x = read_all(*hf, t);
    std::vector<float> y = read_all(*gguf, *got);
    const auto ends = [&](std::string_view s) { return name.ends_with(s); };
    if (ends("in_proj_qkv.weight") || ends("conv1d.weight")) untile(y, t.shape[0], keys, dv, nk, nv);
    if (ends("in_proj_z.weight")) untile(y, t.shape[0], 0, dv, nk, nv);
    if (ends("in_proj_a.weight") || ends("in_proj_b.weight") || ends("A_log") || ends("dt_bias"))
      untile(y, t.shape[0], 0, 1, nk, nv);
    if (ends("out_proj.weight")) {
      for (std::int64_t r = 0; r < t.shape[0]; ++r) {  // its columns are the heads
        std::vector<float> row(y.begin() + r * t.shape[1], y.begin() + (r + 1) * t.shape[1]);
        untile(row, t.shape[1], 0, dv, nk, nv);
        std::copy(row.begin(), row.end(), y.begin() + r * t.shape[1]);
      }
    }
    const bool exact = !ends("norm.weight") && !ends("A_log") && name.find("pre_fc_norm") == std::string::npos;
    for (std::size_t i = 0; i < x.size(); ++i) {
      if (exact) {
        ASSERT_EQ(y[i], x[i]) << i;
      } else {
        ASSERT_NEAR(y[i], x[i], 4e-7f * std::max(1.0f, std::fabs(x[i]))) << i;
      }
    }
    ++compared;
  }
  EXPECT_EQ(gguf->tensors().size(), compared);
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Tiny,
                         testing::Values("qwen3_5_dense_tiny", "qwen3_5_moe_tiny/bf16", "qwen3_5_moe_tiny/fp8"),
                         [](const auto& i) {
                           return std::string(i.param == "qwen3_5_dense_tiny" ? "dense"
                                              : i.param.ends_with("bf16")     ? "moe_bf16"
                                                                              : "moe_fp8");
                         });

// The four random tiny checkpoints: nothing is stored otherwise than it is read.
class Plain : public testing::TestWithParam<std::string> {};

TEST_P(Plain, IsTheSameCheckpoint) {
  TempDir dir;
  const std::string folder = std::string(HEARTH_GOLDEN) + "/tiny_" + GetParam();
  const auto hf = open_checkpoint(folder);
  write_gguf_from_hf(*hf, dir / "m.gguf", {.matrices = Format::bf16, .tokenizer_folder = folder});
  const auto gguf = open_checkpoint(dir / "m.gguf");
  const Json& a = hf->config();
  const Json& b = gguf->config();
  for (const char* key : {"model_type", "hidden_size", "num_hidden_layers", "num_attention_heads",
                          "num_key_value_heads", "vocab_size", "max_position_embeddings", "tie_word_embeddings",
                          "num_experts_per_tok", "moe_intermediate_size", "norm_topk_prob"}) {
    if (a.contains(key)) {
      EXPECT_EQ(b[key], a[key]) << key;
    }
  }
  if (GetParam() == "qwen3_moe") {
    EXPECT_EQ(get_num_experts(b), 6);
  }
  EXPECT_EQ(get_double(rope_parameters(b), "rope_theta"), get_double(rope_parameters(a), "rope_theta"));
  for (const SourceTensor& t : hf->tensors()) {
    const SourceTensor* got = gguf->find(t.name);
    ASSERT_NE(got, nullptr) << t.name;
    EXPECT_EQ(got->shape, t.shape) << t.name;
    EXPECT_EQ(read_all(*gguf, *got), read_all(*hf, t)) << t.name;
  }
  EXPECT_EQ(gguf->tensors().size(), hf->tensors().size());
  EXPECT_EQ(gguf->generation_config()["eos_token_id"], Json({302, 300}));
  const GgufFile file(dir / "m.gguf");
  EXPECT_EQ(file.get_strings("tokenizer.ggml.tokens")->at(302), "<|im_end|>");
  EXPECT_EQ(file.get_ints("tokenizer.ggml.token_type")->at(302), 3);
  // Llama-3 scaling: wavelengths below 64/4 stay, above 64/1 are divided by 8.
  ASSERT_EQ(b.contains("rope_freq_factors"), GetParam() == "llama");
  if (GetParam() == "llama") {
    EXPECT_EQ(b["rope_freq_factors"].size(), 16u);
    EXPECT_EQ(b["rope_freq_factors"][0], 1.0);
    EXPECT_EQ(b["rope_freq_factors"][15], 8.0);
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Plain, testing::Values("llama", "qwen2", "qwen3", "qwen3_moe"),
                         [](const auto& i) { return i.param; });

TEST(GgufSource, TinyInQ8IsNear) {
  TempDir dir;
  const auto hf = open_checkpoint(std::string(HEARTH_GOLDEN) + "/qwen3_5_dense_tiny");
  write_gguf_from_hf(*hf, dir / "m.gguf", {.matrices = Format::q8_0, .tokenizer_folder = {}});
  const auto gguf = open_checkpoint(dir / "m.gguf");
  const SourceTensor* t = gguf->find("model.layers.0.mlp.up_proj.weight");
  ASSERT_NE(t, nullptr);
  EXPECT_EQ(t->format, Format::q8_0);
  const std::vector<float> x = read_all(*hf, "model.language_model.layers.0.mlp.up_proj.weight");
  const std::vector<float> y = read_all(*gguf, *t);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], 0.01f);
}

TEST(GgufSource, HybridTensorsOfOddForm) {
  TempDir dir;
  const auto hf = open_checkpoint(std::string(HEARTH_GOLDEN) + "/qwen3_5_moe_tiny/bf16");
  write_gguf_from_hf(*hf, dir / "m.gguf");
  const GgufFile plain(dir / "m.gguf");
  std::vector<GgufOutTensor> tensors;
  GgufOutTensor qkv{"blk.1.attn_qkv.weight", Format::f32, {0, 128}, {}};
  for (const GgufTensor& t : plain.tensors()) {
    GgufOutTensor out{t.name, t.format, t.shape, std::vector<std::byte>(t.bytes)};
    plain.read(t, out.data);
    if (t.name == "blk.1.attn_q.weight" || t.name == "blk.1.attn_k.weight" || t.name == "blk.1.attn_v.weight") {
      qkv.shape[0] += t.shape[0];
      qkv.data.insert(qkv.data.end(), out.data.begin(), out.data.end());
    } else {
      if (t.name == "blk.0.ssm_a") out.data[3] = std::byte{0x3f};  // a positive number where −exp(A_log) stands
      tensors.push_back(std::move(out));
    }
  }
  tensors.push_back(qkv);
  write_gguf(dir / "fused.gguf", plain.metadata(), tensors);
  const auto a = open_checkpoint(dir / "m.gguf");
  const auto b = open_checkpoint(dir / "fused.gguf");
  for (const char* name : {"q_proj", "k_proj", "v_proj"}) {
    const std::string full = "model.layers.1.self_attn." + std::string(name) + ".weight";
    EXPECT_EQ(read_all(*b, full), read_all(*a, full)) << full;
  }
  EXPECT_THAT(startup_error([&] { read_all(*b, "model.layers.0.linear_attn.A_log"); }), HasSubstr("blk.0.ssm_a"));
}

// --- real files, when they are here --------------------------------------------------------------------------------------

std::string model_file(const std::string& name) {
  const char* set = std::getenv("HEARTH_MODELS");
  const char* home = std::getenv("HOME");
  const std::string folder = set != nullptr ? set : std::string(home != nullptr ? home : "") + "/.cache/hearth/models";
  const std::string path = folder + "/" + name;
  return std::filesystem::exists(path) ? path : "";
}

TEST(GgufSource, SmolLM2) {
  const std::string path = model_file("SmolLM2-135M-Instruct.Q4_1.gguf");
  if (path.empty()) GTEST_SKIP() << "no model file SmolLM2-135M-Instruct.Q4_1.gguf (tools/fetch_models.py brings it)";
  const auto source = open_checkpoint(path);
  const Json& c = source->config();
  EXPECT_EQ(c["model_type"], "llama");
  EXPECT_EQ(c["num_hidden_layers"], 30);
  EXPECT_EQ(c["num_key_value_heads"], 3);
  EXPECT_EQ(c["head_dim"], 64);
  EXPECT_EQ(c["vocab_size"], 49152);
  EXPECT_EQ(c["rope_theta"], 100000.0);
  EXPECT_EQ(c["tie_word_embeddings"], true);
  EXPECT_EQ(source->tensors().size(), 272u);
  EXPECT_EQ(source->find("model.embed_tokens.weight")->format, Format::q8_0);
  const SourceTensor* q = source->find("model.layers.29.self_attn.q_proj.weight");
  EXPECT_EQ(q->format, Format::q4_1);
  EXPECT_THAT(q->shape, ElementsAre(576, 576));
  for (const SourceTensor& t : source->tensors()) EXPECT_THAT(t.name, testing::StartsWith("model."));
  // Row 1 of head 0 here is row 2 of the file, as the gguf package dequantises it.
  const GgufFile file(path);
  const std::vector<float> stored = file.read_f32(*file.find_tensor("blk.29.attn_q.weight"));
  const std::vector<float> got = read_all(*source, *q);
  EXPECT_TRUE(std::equal(got.begin() + 576, got.begin() + 2 * 576, stored.begin() + 2 * 576));
  EXPECT_TRUE(std::equal(got.begin() + 32 * 576, got.begin() + 33 * 576, stored.begin() + 576));
}

TEST(GgufSource, Qwen25Coder) {
  const std::string path = model_file("qwen2.5-coder-0.5b-instruct-q4_k_m.gguf");
  if (path.empty())
    GTEST_SKIP() << "no model file qwen2.5-coder-0.5b-instruct-q4_k_m.gguf (tools/fetch_models.py brings it)";
  const auto source = open_checkpoint(path);
  EXPECT_EQ(source->config()["model_type"], "qwen2");
  EXPECT_EQ(source->config()["tie_word_embeddings"], false);
  EXPECT_EQ(source->config()["attention_bias"], true);
  EXPECT_EQ(source->tensors().size(), 291u);
  for (const SourceTensor& t : source->tensors())
    EXPECT_THAT(t.name, testing::AnyOf(testing::StartsWith("model."), testing::StrEq("lm_head.weight")));
}

}  // namespace
}  // namespace hearth
