#include "engine/device_runner.h"

#include <gtest/gtest.h>

#include <map>

#include "backend/ref/ref_ops.h"
#include "base/rng.h"
#include "engine/engine.h"

namespace hearth {
namespace {

// A small model with every kind of cache: convolution with state, a gated delta rule, rotary attention, a head.
//   x = embed(ids);  u = conv(x · Wuᵀ);  y = delta(u);  a = attention(rope(q), rope(k), v);  logits = (x + y + a) · Whᵀ
class SmallModel final : public Model {
 public:
  static constexpr std::int64_t D = 12, V = 23;
  explicit SmallModel(Ops& ops) {
    info_.architecture = "small";
    info_.vocab_size = V;
    info_.hidden_size = D;
    info_.cache.num_kv_layers = 1;
    info_.cache.num_kv_heads = 1;
    info_.cache.head_dim = 4;
    info_.cache.num_state_layers = 1;
    info_.cache.conv_channels = D;
    info_.cache.state_heads = 1;
    info_.cache.state_dk = info_.cache.state_dv = 4;
    Rng rng(3);
    auto values = [&](std::int64_t n) {
      std::vector<float> v(static_cast<std::size_t>(n));
      for (float& x : v) x = static_cast<float>(rng.normal());
      return v;
    };
    auto matrix = [&](std::int64_t rows, std::int64_t cols) {
      const std::vector<float> v = values(rows * cols);
      const StoredMatrix stored{Format::f32, rows, cols, reinterpret_cast<const std::byte*>(v.data()), nullptr};
      return ops.load_matrix(std::span(&stored, 1));
    };
    auto vector = [&](const std::vector<float>& v, std::initializer_list<std::int64_t> shape) {
      buffers_.push_back(ops.device().alloc(v.size() * sizeof(float), "weights"));
      ops.device().copy_in(buffers_.back().data(), v.data(), v.size() * sizeof(float));
      return Tensor(buffers_.back().data(), DType::f32, shape);
    };
    embed_ = matrix(V, D);
    u_ = matrix(D, D);
    q_ = matrix(8, D);
    k_ = matrix(4, D);
    v_ = matrix(4, D);
    o_ = matrix(D, 8);
    y_ = matrix(D, 4);
    head_ = matrix(V, D);
    conv_ = vector(values(D * 4), {D, 4});
    inv_freq_ = vector({1.0f, 0.1f}, {2});
    zero_ = vector({0.0f}, {1});
  }
  const ModelInfo& info() const override { return info_; }
  void bind(Binder&) override {}

  Tensor forward(Ctx& c, const StepInput& in, StepCaches& caches) override {
    const std::int64_t t = in.token_ids.dim(0), l = in.logit_rows.dim(0);
    Tensor logits = c.make(DType::f32, {l, V});
    Tensor x = c.embed(in.token_ids, embed_);
    Tensor w = c.causal_conv1d(c.linear(x, u_), conv_, caches.conv_state[0], in.batch);
    const Ctx::Gates gates = c.gdn_gates(w.slice(1, 0, 1), w.slice(1, 1, 2), zero_, zero_);
    const auto [ks, vs] = c.linear_many<2>(w, {&k_, &v_});
    Tensor k = ks.heads(1), v = vs.heads(1), q = c.linear(x, q_).heads(2);
    c.l2_norm_in_place(k, 1e-6f, 1.0f);
    Tensor y = c.gated_delta_rule(k, k, v, gates, caches.recurrent_state[0], HeadMap::grouped, in.batch);
    c.rope_in_place(q, in.batch.positions, inv_freq_, RopeStyle::half_split);
    c.rope_in_place(k, in.batch.positions, inv_freq_, RopeStyle::half_split);
    c.write_kv(caches.kv[0], k, v, in.batch);
    Tensor m = c.linear(c.attention(q, caches.kv[0], in.batch, 0.5f).view({t, 8}), o_);
    Tensor n = c.linear(y.view({t, 4}), y_);
    if (!c.planning()) {
      c.ops().add(x, m);
      c.ops().add(x, n);
    }
    if (l > 0) c.linear_into(logits, c.gather_rows(x, in.logit_rows), head_);
    return logits;
  }

 private:
  ModelInfo info_;
  std::vector<Buffer> buffers_;
  Matrix embed_, u_, q_, k_, v_, o_, y_, head_;
  Tensor conv_, inv_freq_, zero_;
};

struct Collect final : OutputSink {
  std::map<int, std::vector<TokenOutput>> tokens;
  std::vector<TokenOutput> prompt_rows;
  Status error;
  int preemptions = 0;
  void on_prompt_logprobs(std::vector<TokenOutput> rows) override { prompt_rows = std::move(rows); }
  void on_output(ChoiceOutput out) override {
    for (TokenOutput& t : out.tokens) tokens[out.index].push_back(std::move(t));
    if (!out.error.ok()) error = out.error;
  }
  void on_done(const RequestTimes&, int, int p) override { preemptions = p; }
};

DeviceRunnerConfig device_config(int num_blocks) {
  DeviceRunnerConfig d;
  d.max_batch_tokens = 16;
  d.max_seqs = 4;
  d.max_model_len = 40;
  d.block_tokens = 4;
  d.num_blocks = num_blocks;
  d.num_state_slots = 4;
  d.max_logit_rows = 6;
  return d;
}

// Runs the requests together, or one after the other, and gives what each was told.
std::vector<std::shared_ptr<Collect>> answers(const std::vector<Request>& requests, bool together, int num_blocks,
                                              std::int32_t batched_tokens) {
  RefOps ops;
  SteadyClock clock;
  EngineConfig e;
  e.max_model_len = 40;
  e.max_num_seqs = 4;
  e.max_num_batched_tokens = batched_tokens;
  Engine engine(e, std::make_unique<DeviceRunner>(std::make_unique<SmallModel>(ops), ops, device_config(num_blocks)),
                clock);
  std::vector<std::shared_ptr<Collect>> sinks;
  for (Request r : requests) {
    sinks.push_back(std::make_shared<Collect>());
    r.sink = sinks.back();
    EXPECT_TRUE(engine.submit(r).ok());
    while (!together && engine.step()) {
    }
  }
  while (engine.step()) {
  }
  return sinks;
}

std::vector<Request> some_requests() {
  std::vector<Request> requests;
  Rng rng(11);
  for (int i = 0; i < 8; ++i) {
    Request r;
    r.id = std::to_string(i);
    for (std::uint64_t p = 0, n = 1 + rng.below(18); p < n; ++p)
      r.prompt.push_back(static_cast<std::int32_t>(rng.below(SmallModel::V)));
    r.max_tokens = 14;
    r.n = i % 4 == 3 ? 2 : 1;
    r.sampling.temperature = i % 2 == 0 ? 0.0f : 0.8f;
    r.sampling.seed = 40 + i;
    r.sampling.logprobs = 2;
    r.sampling.prompt_logprobs = i % 3 == 0 ? 1 : -1;
    requests.push_back(r);
  }
  return requests;
}

void expect_same(const std::vector<TokenOutput>& a, const std::vector<TokenOutput>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].token, b[i].token);
    EXPECT_EQ(a[i].logprob, b[i].logprob);  // to the bit
    EXPECT_EQ(a[i].rank, b[i].rank);
  }
}

TEST(DeviceRunner, WhatARequestSaysDoesNotDependOnTheBatch) {
  const std::vector<Request> requests = some_requests();
  const auto alone = answers(requests, false, 40, 16);
  for (const int num_blocks : {40, 11}) {  // 11: little more than one sequence, so that some are preempted
    for (const std::int32_t budget : {16, 5}) {
      const auto together = answers(requests, true, num_blocks, budget);
      int preemptions = 0;
      for (std::size_t i = 0; i < requests.size(); ++i) {
        SCOPED_TRACE("request " + std::to_string(i));
        preemptions += together[i]->preemptions;
        for (int choice = 0; choice < requests[i].n; ++choice) {
          EXPECT_EQ(alone[i]->tokens[choice].size(), 14u);
          expect_same(alone[i]->tokens[choice], together[i]->tokens[choice]);
        }
        expect_same(alone[i]->prompt_rows, together[i]->prompt_rows);
      }
      if (num_blocks == 11) {
        EXPECT_GT(preemptions, 0);
      }
    }
  }
}

TEST(DeviceRunner, AChoiceSaysWhatARequestOfItsOwnSays) {
  Request r;
  r.id = "three";
  r.max_tokens = 14;
  r.n = 3;
  r.sampling.temperature = 0.9f;
  r.sampling.seed = 70;
  r.sampling.logprobs = 1;
  for (const std::size_t length : {1u, 8u, 18u}) {  // in blocks of 4: a part, two whole, four and a part; in steps of 5
    r.prompt.assign(length, 3);
    r.prompt.back() = 9;
    const auto three = answers({r}, false, 40, 5)[0];
    for (int i = 0; i < 3; ++i) {
      Request one = r;
      one.n = 1;
      one.sampling.seed = 70 + i;
      expect_same(answers({one}, false, 40, 5)[0]->tokens[0], three->tokens[i]);
    }
  }
}

TEST(DeviceRunner, PromptLogprobsAreThoseOfGenerating) {
  Request r;
  r.id = "a";
  r.prompt = {1, 2, 3};
  r.max_tokens = 20;
  r.sampling.temperature = 0.7f;
  r.sampling.seed = 5;
  r.sampling.logprobs = 0;
  const auto generated = answers({r}, false, 40, 16)[0]->tokens[0];
  for (const TokenOutput& t : generated) r.prompt.push_back(t.token);
  r.sampling.prompt_logprobs = 0;
  r.max_tokens = 0;
  const auto rows = answers({r}, false, 40, 16)[0]->prompt_rows;
  ASSERT_EQ(rows.size(), 23u);
  expect_same({rows.begin() + 3, rows.end()}, generated);
}

TEST(DeviceRunner, APoisonedRequestFailsAloneAndSaysWhy) {
  std::vector<Request> requests = some_requests();
  requests[2].sampling.debug_poison_nan = true;
  const auto alone = answers(some_requests(), false, 40, 16);
  const auto together = answers(requests, true, 40, 16);
  EXPECT_NE(together[2]->error.message.find("NaN"), std::string::npos) << together[2]->error.message;
  EXPECT_TRUE(together[2]->tokens[0].empty());
  expect_same(alone[1]->tokens[0], together[1]->tokens[0]);
  expect_same(alone[3]->tokens[1], together[3]->tokens[1]);
}

TEST(DeviceRunner, TakesWhatWasPlanned) {
  RefOps ops;
  auto model = std::make_unique<SmallModel>(ops);
  const DeviceRunnerConfig config = device_config(10);
  const DevicePlan plan = plan_device(*model, ops, config);
  EXPECT_EQ(plan.logits, 6 * 23 * 4);
  const CacheNeeds needs =
      cache_needs(model->info().cache, config.kv_dtype, config.block_tokens, config.max_seqs, config.max_model_len);
  EXPECT_EQ(needs.kv_bytes_per_token, 2 * 4 * 4);
  EXPECT_EQ(needs.state_bytes_per_slot, 4 * (3 * 12 + 16));
  const DeviceRunner runner(std::move(model), ops, config);
  auto used = ops.device().used_bytes();
  auto pages = [](std::int64_t bytes) { return static_cast<std::size_t>((bytes + 4095) / 4096 * 4096); };
  EXPECT_EQ(used["kv_cache"], pages(10 * 4 * needs.kv_bytes_per_token));
  EXPECT_EQ(used["state"], pages(4 * needs.state_bytes_per_slot));
  EXPECT_EQ(used["activations"], pages(plan.activations + plan.logits));
  EXPECT_EQ(used["other"], pages(plan.step_tensors));
  EXPECT_EQ(used["workspace"], pages(plan.workspace));
  EXPECT_GT(plan.workspace, 0);
  EXPECT_GE(plan.sampling, 23 * 8);
}

}  // namespace
}  // namespace hearth
