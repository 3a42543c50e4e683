#include "checkpoint/hf_folder.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/fp8_scales.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/testing/temp_dir.h"

namespace hearth {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::byte> bytes(std::initializer_list<int> values) {
  std::vector<std::byte> b;
  for (int v : values) b.push_back(static_cast<std::byte>(v));
  return b;
}

SafetensorsTensor u8(const std::string& name, std::vector<std::int64_t> shape) {
  std::int64_t n = 1;
  for (std::int64_t d : shape) n *= d;
  SafetensorsTensor t{name, Format::u8, std::move(shape), {}};
  for (std::int64_t i = 0; i < n; ++i) t.data.push_back(static_cast<std::byte>(i));
  return t;
}

std::string open_error(const TempDir& dir) {
  return startup_error([&] { open_checkpoint(dir.path()); });
}

TEST(HfFolder, SingleFile) {
  TempDir dir;
  write_file(dir / "config.json", R"({"model_type": "llama"})");
  write_safetensors(dir / "model.safetensors", {u8("a", {2, 3}), u8("b", {1})});
  const auto source = open_checkpoint(dir.path());
  ASSERT_EQ(source->tensors().size(), 2u);
  EXPECT_EQ(source->config()["model_type"], "llama");
  EXPECT_TRUE(source->generation_config().empty());
  const SourceTensor* a = source->find("a");
  ASSERT_NE(a, nullptr);
  EXPECT_THAT(a->shape, ElementsAre(2, 3));
  std::vector<std::byte> got(6);
  source->read(*a, got);
  EXPECT_EQ(got, bytes({0, 1, 2, 3, 4, 5}));
  EXPECT_THAT(source->where(*a), HasSubstr("model.safetensors"));
  EXPECT_EQ(source->find("c"), nullptr);
}

TEST(HfFolder, FusedExpertsAreOneMatrixAnExpert) {
  TempDir dir;
  write_file(dir / "config.json", "{}");
  const std::string p = "model.layers.0.mlp.experts.";
  write_safetensors(dir / "model.safetensors", {u8(p + "gate_up_proj", {2, 4, 3}), u8(p + "down_proj", {2, 3, 2})});
  const auto source = open_checkpoint(dir.path());
  EXPECT_EQ(source->tensors().size(), 6u);
  EXPECT_EQ(source->find(p + "gate_up_proj"), nullptr);
  const auto read = [&](const std::string& name) {
    const SourceTensor* t = source->find(p + name);
    std::vector<std::byte> b(static_cast<std::size_t>(t->bytes));
    source->read(*t, b);
    return b;
  };
  EXPECT_THAT(source->find(p + "0.gate_proj.weight")->shape, ElementsAre(2, 3));
  EXPECT_EQ(read("0.gate_proj.weight"), bytes({0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(read("0.up_proj.weight"), bytes({6, 7, 8, 9, 10, 11}));
  EXPECT_EQ(read("1.up_proj.weight"), bytes({18, 19, 20, 21, 22, 23}));
  EXPECT_THAT(source->find(p + "1.down_proj.weight")->shape, ElementsAre(3, 2));
  EXPECT_EQ(read("1.down_proj.weight"), bytes({6, 7, 8, 9, 10, 11}));

  write_safetensors(dir / "model.safetensors", {u8(p + "gate_up_proj", {4, 3})});
  EXPECT_THAT(open_error(dir), AllOf(HasSubstr("gate_up_proj"), HasSubstr("found shape [4, 3]")));
}

// No bytes stand behind such a shape, so nothing else bounds the number of experts.
TEST(HfFolder, ManyExpertsOfNoRowsAreNotCountedForEver) {
  TempDir dir;
  write_file(dir / "config.json", "{}");
  for (const char* projection : {"gate_up_proj", "down_proj"}) {
    write_safetensors(dir / "model.safetensors",
                      {u8(std::string("a.mlp.experts.") + projection, {std::int64_t{1} << 48, 0, 4})});
    EXPECT_THAT(open_error(dir), AllOf(HasSubstr(projection), HasSubstr("found shape [281474976710656, 0, 4]")));
  }
}

class Shards : public testing::Test {
 protected:
  Shards() {
    write_file(dir_ / "config.json", "{}");
    write_safetensors(dir_ / "s1.safetensors", {u8("a", {1})});
    write_safetensors(dir_ / "s2.safetensors", {u8("b", {2}), u8("c", {3})});
    index(R"({"weight_map": {"a": "s1.safetensors", "b": "s2.safetensors", "c": "s2.safetensors"}})");
  }
  void index(std::string_view text) { write_file(dir_ / "model.safetensors.index.json", text); }
  TempDir dir_;
};

TEST_F(Shards, AreFollowedByTheIndex) {
  const auto source = open_checkpoint(dir_.path());
  EXPECT_EQ(source->tensors().size(), 3u);
  EXPECT_THAT(source->where(*source->find("c")), HasSubstr("s2.safetensors"));
}

TEST_F(Shards, MissingShard) {
  std::filesystem::remove(dir_ / "s2.safetensors");
  EXPECT_THAT(open_error(dir_), AllOf(HasSubstr("names 2 files: 1 of them not found, the first is s2.safetensors"),
                                      HasSubstr("index.json")));
}

TEST_F(Shards, IndexAndShardsDisagree) {
  index(
      R"({"weight_map": {"a": "s1.safetensors", "b": "s2.safetensors", "c": "s2.safetensors", "d": "s1.safetensors"}})");
  EXPECT_THAT(open_error(dir_), AllOf(HasSubstr("s1.safetensors: d"), HasSubstr("not found there")));
  index(R"({"weight_map": {"a": "s1.safetensors", "b": "s2.safetensors"}})");
  EXPECT_THAT(open_error(dir_), AllOf(HasSubstr("s2.safetensors: c"), HasSubstr("does not name")));
  write_safetensors(dir_ / "s1.safetensors", {u8("a", {1}), u8("c", {3})});
  index(R"({"weight_map": {"a": "s1.safetensors", "b": "s2.safetensors", "c": "s1.safetensors"}})");
  EXPECT_THAT(open_error(dir_), AllOf(HasSubstr("s2.safetensors: c"), HasSubstr("expects in s1.safetensors")));
}

TEST_F(Shards, BrokenIndex) {
  index("{\"weight_map\": {\"a\": ");
  EXPECT_THAT(open_error(dir_), AllOf(HasSubstr("at byte"), HasSubstr("index.json")));
  index("[1]");
  EXPECT_THAT(open_error(dir_), HasSubstr("expected a JSON object, found array"));
  index("{}");
  EXPECT_THAT(open_error(dir_), HasSubstr("weight_map"));
  index(R"({"weight_map": {}})");
  EXPECT_THAT(open_error(dir_), HasSubstr("found none"));
  index(R"({"weight_map": {"a": "../s1.safetensors"}})");
  EXPECT_THAT(open_error(dir_), HasSubstr("file in the same folder"));
  index(R"({"weight_map": {"a": 1}})");
  EXPECT_THAT(open_error(dir_), HasSubstr("file in the same folder"));
}

TEST(HfFolder, BrokenOrMissingFiles) {
  TempDir dir;
  EXPECT_THAT(open_error(dir), AllOf(HasSubstr("config.json"), HasSubstr("found none")));
  write_file(dir / "config.json", "{\"a\": 1");
  EXPECT_THAT(open_error(dir), AllOf(HasSubstr("at byte 8"), HasSubstr("config.json")));
  write_file(dir / "config.json", "{}");
  EXPECT_THAT(open_error(dir), HasSubstr("expected model.safetensors"));
  write_safetensors(dir / "weights.safetensors", {u8("a", {1})});
  EXPECT_EQ(open_error(dir), "");
  write_file(dir / "generation_config.json", "{\"a\" 1}");
  EXPECT_THAT(open_error(dir), AllOf(HasSubstr("at byte"), HasSubstr("generation_config.json")));
  EXPECT_THAT(startup_error([&] { open_checkpoint(dir / "config.json"); }), HasSubstr("another file"));
  EXPECT_THAT(startup_error([&] { open_checkpoint(dir / "nothing_here"); }), HasSubstr("nothing_here"));
}

class Fp8Folder : public testing::Test {
 protected:
  void write(const std::string& scale_name, Format format, std::vector<std::int64_t> shape,
             std::vector<std::byte> data) {
    write_file(dir_ / "config.json", "{}");
    SafetensorsTensor w{"q_proj.weight", Format::f8_e4m3, {3, 130}, std::vector<std::byte>(390)};
    write_safetensors(dir_ / "model.safetensors", {w, {scale_name, format, std::move(shape), std::move(data)}});
  }
  TempDir dir_;
};

TEST_F(Fp8Folder, ScalesAreReadAndChecked) {
  write("q_proj.weight_scale_inv", Format::bf16, {1, 2}, bytes({0x80, 0x3f, 0x00, 0x40}));
  const auto source = open_checkpoint(dir_.path());
  EXPECT_THAT(read_fp8_scales(*source, *source->find("q_proj.weight")), ElementsAre(1.0f, 2.0f));
}

TEST_F(Fp8Folder, AbsentOrMisshapedScales) {
  write("other.weight", Format::bf16, {1, 2}, std::vector<std::byte>(4));
  EXPECT_THAT(open_error(dir_), AllOf(HasSubstr("q_proj.weight_scale_inv of shape [1, 2], found none"),
                                      HasSubstr("model.safetensors: q_proj.weight")));
  write("q_proj.weight_scale_inv", Format::bf16, {2, 1}, std::vector<std::byte>(4));
  EXPECT_THAT(open_error(dir_), HasSubstr("expected shape [1, 2] for a weight of [3, 130], found [2, 1]"));
  write("q_proj.weight_scale_inv", Format::i16, {1, 2}, std::vector<std::byte>(4));
  EXPECT_THAT(open_error(dir_), HasSubstr("found i16"));
  write("k_proj.weight_scale_inv", Format::bf16, {1, 2}, std::vector<std::byte>(4));
  EXPECT_THAT(open_error(dir_), HasSubstr("q_proj"));
}

TEST_F(Fp8Folder, NaNAmongTheScales) {
  write("q_proj.weight_scale_inv", Format::bf16, {1, 2}, bytes({0x80, 0x3f, 0xc0, 0x7f}));
  const auto source = open_checkpoint(dir_.path());
  EXPECT_THAT(startup_error([&] { read_fp8_scales(*source, *source->find("q_proj.weight")); }),
              AllOf(HasSubstr("found NaN at [0, 1]"), HasSubstr("q_proj.weight_scale_inv")));
}

TEST(HfFolder, QuantizationConfig) {
  const auto error = [](const char* config) {
    return startup_error([&] { check_quantization_config(*parse_json(config), "config.json"); });
  };
  EXPECT_EQ(
      error(
          R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "dynamic"}})"),
      "");
  EXPECT_EQ(error(R"({"quantization_config": null})"), "");
  EXPECT_THAT(error(R"({"quantization_config": {"quant_method": "awq"}})"),
              AllOf(HasSubstr("expected \"fp8\", found \"awq\""), HasSubstr("quantization_config.quant_method"),
                    HasSubstr("BF16")));
  EXPECT_THAT(error(R"({"quantization_config": {"quant_method": "fp8"}})"),
              HasSubstr("expected [128,128], found nothing"));
  EXPECT_THAT(
      error(R"({"text_config": {"quantization_config": {"quant_method": "fp8", "weight_block_size": [64, 128]}}})"),
      HasSubstr("found [64,128]"));
  EXPECT_THAT(
      error(
          R"({"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128], "activation_scheme": "static"}})"),
      HasSubstr("static"));
}

TEST(HfFolder, TheTinyCheckpoints) {
  const std::string golden = HEARTH_GOLDEN;
  const auto moe = open_checkpoint(golden + "/qwen3_5_moe_tiny/bf16");
  EXPECT_EQ(moe->find("model.language_model.layers.0.mlp.experts.gate_up_proj"), nullptr);
  EXPECT_THAT(moe->find("model.language_model.layers.0.mlp.experts.7.up_proj.weight")->shape, ElementsAre(64, 128));
  EXPECT_THAT(moe->find("mtp.layers.0.mlp.experts.0.down_proj.weight")->shape, ElementsAre(128, 64));
  EXPECT_FALSE(moe->generation_config().empty());
  const auto fp8 = open_checkpoint(golden + "/qwen3_5_moe_tiny/fp8");
  int matrices = 0;
  for (const SourceTensor& t : fp8->tensors()) {
    if (t.format != Format::f8_e4m3) continue;
    ++matrices;
    EXPECT_FALSE(read_fp8_scales(*fp8, t).empty());
  }
  EXPECT_GT(matrices, 100);
  const auto dense = open_checkpoint(golden + "/qwen3_5_dense_tiny");
  EXPECT_EQ(dense->find("lm_head.weight"), nullptr);
}

}  // namespace
}  // namespace hearth
