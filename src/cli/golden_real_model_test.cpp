// Real pretrained models against tests/golden/real_models (README.md there says what must be equal and how near). Each needs
// its file in $HEARTH_MODELS, by default ~/.cache/hearth/models, and is skipped without it.
//
// A greedy run is checked by teacher forcing: the golden ids are fed in one pass, and the argmax of each row must be the next
// golden id. That is the same as a free run, since a row sees nothing but the ids before it.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <openssl/evp.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "checkpoint/testing/temp_dir.h"
#include "cli/testing/backends.h"
#include "cli/testing/goldens.h"
#include "models/testing/model_harness.h"

namespace hearth {
namespace {

struct RealModel {
  const char* name;
  const char* file;
  const char* goldens;
  const char* vocabulary;  // in tokens.json
};
void PrintTo(const RealModel& m, std::ostream* os) { *os << m.file; }

const RealModel kSmol{"smollm2", "SmolLM2-135M-Instruct.Q4_1.gguf", "generate.smollm2-135m-instruct-q4_1.json",
                      "smollm2"};
const RealModel kQwen{"qwen2_5_coder", "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf",
                      "generate.qwen2.5-coder-0.5b-instruct-q4_k_m.json", "qwen2.5-coder"};

// What is asked of an engine, by what it does to activations.
struct Bounds {
  double first_top5, argmax_where_gap_above, mean_nll;
};
constexpr Bounds kExact{0.002, 0.0, 0.0005};
constexpr Bounds kEightBit{0.7, 0.6, 0.03};  // the README's first two; mean NLL over 650 tokens averages the noise away

std::string model_path(const RealModel& m) {
  const char* set = std::getenv("HEARTH_MODELS");
  const char* home = std::getenv("HOME");
  const std::string path =
      (set != nullptr ? std::string(set) : std::string(home != nullptr ? home : "") + "/.cache/hearth/models") + "/" +
      m.file;
  return std::filesystem::exists(path) ? path : "";
}

std::string sha256_of(const std::string& path) {
  EVP_MD_CTX* md = EVP_MD_CTX_new();
  EVP_DigestInit_ex(md, EVP_sha256(), nullptr);
  std::ifstream in(path, std::ios::binary);
  std::vector<char> block(1 << 20);
  while (in.read(block.data(), static_cast<std::streamsize>(block.size())), in.gcount() > 0)
    EVP_DigestUpdate(md, block.data(), static_cast<std::size_t>(in.gcount()));
  unsigned char digest[32];
  EVP_DigestFinal_ex(md, digest, nullptr);
  EVP_MD_CTX_free(md);
  std::string hex;
  for (const unsigned char c : digest) hex += fmt::format("{:02x}", c);
  return hex;
}

// The same checkpoint with every weight widened to f32, tensor by tensor as it is read.
class WidenedSource final : public WeightSource {
 public:
  explicit WidenedSource(WeightSource& inner) : inner_(inner) {
    for (const SourceTensor& t : inner.tensors()) {
      SourceTensor wide = t;
      wide.format = Format::f32;
      wide.bytes = 4;
      for (const std::int64_t d : t.shape) wide.bytes *= d;
      tensors_.push_back(wide);
    }
  }
  const std::vector<SourceTensor>& tensors() const override { return tensors_; }
  const SourceTensor* find(std::string_view name) const override {
    const SourceTensor* t = inner_.find(name);
    return t == nullptr ? nullptr : &tensors_[static_cast<std::size_t>(t - inner_.tensors().data())];
  }
  void read_range(const SourceTensor& tensor, std::int64_t offset, std::span<std::byte> dst) override {
    const SourceTensor& stored = *inner_.find(tensor.name);
    const auto numbers = static_cast<std::int64_t>(dst.size()) / 4;
    std::vector<std::byte> bytes(static_cast<std::size_t>(format_bytes(stored.format, numbers)));
    inner_.read_range(stored, format_bytes(stored.format, offset / 4), bytes);
    format_info(stored.format).dequantize(bytes.data(), numbers, reinterpret_cast<float*>(dst.data()));
  }
  const Json& config() const override { return inner_.config(); }
  const Json& generation_config() const override { return inner_.generation_config(); }
  std::string where(const SourceTensor& tensor) const override { return inner_.where(tensor); }

 private:
  WeightSource& inner_;
  std::vector<SourceTensor> tensors_;
};

// log softmax of a row, in double.
std::vector<double> log_probabilities(std::span<const float> row) {
  const double largest = static_cast<double>(*std::max_element(row.begin(), row.end()));
  double sum = 0;
  for (const float x : row) sum += std::exp(static_cast<double>(x) - largest);
  std::vector<double> out;
  for (const float x : row) out.push_back(static_cast<double>(x) - largest - std::log(sum));
  return out;
}

void expect_generation(ModelHarness& model, const RealModel& m, const Bounds& bounds,
                       const std::vector<std::string>& only = {}) {
  const Json goldens = read_golden_json(std::string("real_models/") + m.goldens);
  const auto V = static_cast<std::size_t>(model.info().vocab_size);
  for (const auto& [name, c] : goldens["cases"].items()) {
    if (!only.empty() && std::find(only.begin(), only.end(), name) == only.end()) continue;
    const auto prompt = c["prompt_ids"].get<std::vector<std::int32_t>>(),
               ids = c["exact"]["ids"].get<std::vector<std::int32_t>>();
    const auto gaps = c["exact"]["gap"].get<std::vector<double>>();
    model.forget(0);
    for (std::size_t at = 0; at + 1 < prompt.size(); at += 128)
      model.step({{0,
                   {prompt.begin() + static_cast<std::ptrdiff_t>(at),
                    prompt.begin() + static_cast<std::ptrdiff_t>(std::min(at + 128, prompt.size() - 1))}}},
                 false);
    std::vector<std::int32_t> rest{prompt.back()};
    rest.insert(rest.end(), ids.begin(), ids.end() - 1);
    const std::vector<float> logits = model.step({{0, rest}}, true);  // row i chooses ids[i]

    const std::vector<double> first = log_probabilities({logits.data(), V});
    for (const Json& top : c["exact"]["first_top5"])
      EXPECT_NEAR(first[top[0].get<std::size_t>()], top[1].get<double>(), bounds.first_top5)
          << name << " token " << top[0];
    for (std::size_t i = 0; i < ids.size(); ++i) {
      if (gaps[i] <= bounds.argmax_where_gap_above) continue;
      EXPECT_EQ(argmax({logits.data() + i * V, V}), ids[i]) << name << " step " << i << ", gap " << gaps[i];
    }
  }
}

void expect_nll(ModelHarness& model, const RealModel& m, const Bounds& bounds) {
  const Json golden = read_golden_json(std::string("real_models/") + m.goldens)["long_600_nll_exact"];
  const auto ids = read_golden_json("real_models/tokens.json")["vocab"][m.vocabulary]["ids"]["long_600"][0]
                       .get<std::vector<std::int32_t>>();
  ASSERT_EQ(ids.size(), golden["n_tokens"].get<std::size_t>());
  const auto V = static_cast<std::size_t>(model.info().vocab_size);
  std::vector<double> nll;
  model.forget(0);
  for (std::size_t at = 0; at + 1 < ids.size(); at += 64) {
    const std::size_t end = std::min(at + 64, ids.size() - 1);
    const auto logits = model.step(
        {{0, {ids.begin() + static_cast<std::ptrdiff_t>(at), ids.begin() + static_cast<std::ptrdiff_t>(end)}}}, true);
    for (std::size_t i = at; i < end; ++i)
      nll.push_back(-log_probabilities({logits.data() + (i - at) * V, V})[static_cast<std::size_t>(ids[i + 1])]);
  }
  double mean = 0;
  for (const double x : nll) mean += x / static_cast<double>(nll.size());
  EXPECT_NEAR(mean, golden["mean_nll"].get<double>(), bounds.mean_nll);
  if (bounds.argmax_where_gap_above > 0) return;
  const auto first = golden["nll_first_24"].get<std::vector<double>>(),
             last = golden["nll_last_24"].get<std::vector<double>>();
  for (std::size_t i = 0; i < 24; ++i) {
    EXPECT_NEAR(nll[i], first[i], 0.005) << i;
    EXPECT_NEAR(nll[nll.size() - 24 + i], last[i], 0.005) << i;
  }
}

class RealModels : public testing::TestWithParam<RealModel> {
 protected:
  void SetUp() override {
    path = model_path(GetParam());
    if (path.empty()) GTEST_SKIP() << GetParam().file << " is not here";
    ops = make_cpu_ops({});
  }
  static constexpr HarnessOptions kOptions{.max_context = 1024, .max_batch_tokens = 128};

  std::string path;
  std::unique_ptr<Ops> ops;
};

TEST_P(RealModels, IsTheFileOfTheGoldens) {
  EXPECT_EQ(sha256_of(path), read_golden_json(std::string("real_models/") + GetParam().goldens)["model_sha256"]);
}

TEST_P(RealModels, AsStored) {
  const auto source = open_checkpoint(path);
  ModelHarness model(*source, *ops, kOptions);
  expect_generation(model, GetParam(), kEightBit);
  expect_nll(model, GetParam(), kEightBit);
}

TEST_P(RealModels, WidenedToF32) {
  const auto stored = open_checkpoint(path);
  WidenedSource source(*stored);
  ModelHarness model(source, *ops, kOptions);
  // Two gigabytes of f32 a token for the larger model: the cases with few tokens or wide gaps.
  if (std::string_view(GetParam().name) == kSmol.name)
    expect_generation(model, GetParam(), kExact);
  else
    expect_generation(model, GetParam(), kExact, {"france", "count", "chat_chatml", "json"});
  expect_nll(model, GetParam(), kExact);
}

TEST_P(RealModels, TheReferenceOnTheShortestPrompt) {
  const auto source = open_checkpoint(path);
  RefOps ref;
  ModelHarness model(*source, ref, {.max_context = 32, .max_batch_tokens = 8});
  const Json c = read_golden_json(std::string("real_models/") + GetParam().goldens)["cases"]["france"];
  const auto prompt = c["prompt_ids"].get<std::vector<std::int32_t>>();
  const auto first = log_probabilities(model.step({{0, prompt}}, false));
  for (const Json& top : c["exact"]["first_top5"])
    EXPECT_NEAR(first[top[0].get<std::size_t>()], top[1].get<double>(), kExact.first_top5) << "token " << top[0];
}

INSTANTIATE_TEST_SUITE_P(All, RealModels, testing::Values(kSmol, kQwen),
                         [](const auto& i) { return std::string(i.param.name); });

// The GGUF's weights, widened and written as the safetensors folder that they came from (q and k rows in their own order).
TEST(RealModelsAsSafetensors, SmolLM2) {
  const std::string path = model_path(kSmol);
  if (path.empty()) GTEST_SKIP() << kSmol.file << " is not here";
  const auto stored = open_checkpoint(path);
  WidenedSource wide(*stored);
  TempDir dir;
  {
    std::vector<SafetensorsTensor> tensors;
    for (const SourceTensor& t : wide.tensors()) {
      tensors.push_back({t.name, t.format, t.shape, std::vector<std::byte>(static_cast<std::size_t>(t.bytes))});
      wide.read(t, tensors.back().data);
    }
    write_safetensors(dir / "model.safetensors", tensors);
  }
  write_file(dir / "config.json", dump_json(stored->config()));
  const auto source = open_checkpoint(dir.path());
  const auto ops = make_cpu_ops({});
  ModelHarness model(*source, *ops, {.max_context = 1024, .max_batch_tokens = 128});
  expect_generation(model, kSmol, kExact, {"france", "count", "chat_chatml"});
}

}  // namespace
}  // namespace hearth
