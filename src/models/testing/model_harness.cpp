#include "models/testing/model_harness.h"

#include <algorithm>
#include <numeric>

#include "base/rng.h"
#include "nn/binder.h"
#include "tensor/float16.h"

namespace hearth {

ModelHarness::ModelHarness(WeightSource& source, Ops& ops, const HarnessOptions& options)
    : ops_(ops), options_(options) {
  model_ = model_for(source.config()).make(source.config());
  Binder binder(source, ops);
  model_->bind(binder);
  binder.finish();

  const std::int64_t N = options.block_tokens, S = options.max_seqs;
  max_blocks_ = (options.max_context + N - 1) / N;
  const std::int64_t num_blocks = S * max_blocks_ + 5;
  std::vector<std::int32_t> order(static_cast<std::size_t>(num_blocks));
  std::iota(order.begin(), order.end(), 0);
  Rng rng(20261);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  for (std::int64_t s = 0; s < S; ++s) {
    blocks_.emplace_back(order.begin() + s * max_blocks_, order.begin() + (s + 1) * max_blocks_);
    slots_.push_back(static_cast<std::int32_t>(S - s));  // slot 0 stays unused
  }
  lengths_.assign(static_cast<std::size_t>(S), 0);

  const CacheSpec& spec = info().cache;
  const auto cache = [&](DType dtype, std::initializer_list<std::int64_t> shape) {
    const Tensor t(nullptr, dtype, shape);
    buffers_.push_back(ops.device().alloc(static_cast<std::size_t>(t.size_bytes()), "kv_cache"));
    return Tensor(buffers_.back().data(), dtype, shape);
  };
  for (int i = 0; i < spec.num_kv_layers; ++i) {
    const Tensor k = cache(options.kv_dtype, {num_blocks, N, spec.num_kv_heads, spec.head_dim});
    caches_.kv.push_back({k, cache(options.kv_dtype, {num_blocks, N, spec.num_kv_heads, spec.head_dim})});
  }
  for (int i = 0; i < spec.num_state_layers; ++i) {
    caches_.conv_state.push_back(cache(DType::f32, {S + 1, 3, spec.conv_channels}));
    caches_.recurrent_state.push_back(cache(DType::f32, {S + 1, spec.state_heads, spec.state_dk, spec.state_dv}));
  }

  // One planned forward of the largest step gives the activation memory.
  const std::int64_t T = options.max_batch_tokens;
  const auto shape = [](std::initializer_list<std::int64_t> s) { return Tensor(nullptr, DType::i32, s); };
  const StepInput largest{
      shape({T}),
      shape({T}),
      {shape({T}), shape({T}), shape({S + 1}), shape({S}), shape({S, max_blocks_}), shape({T}), shape({S}), N}};
  Arena counting;
  StepShape asked;
  asked.tokens = T;
  asked.sequences = S;
  asked.context = options.max_context;
  Ctx plan = Ctx::plan(counting, ops.act_dtype(), asked);
  model_->forward(plan, largest, caches_);
  arena_bytes_ = counting.peak_bytes();
  arena_memory_ = ops.device().alloc(arena_bytes_, "activations");
  ops.reserve(asked);
}

std::vector<float> ModelHarness::step(const std::vector<Chunk>& chunks, bool all_rows) {
  const std::int64_t N = options_.block_tokens;
  std::vector<std::int32_t> ids, positions, seq_of_row, cu{0}, seq_lens, tables, slot_mapping, state_slots, logit_rows;
  for (const Chunk& chunk : chunks) {
    const auto s = static_cast<std::size_t>(chunk.seq);
    for (const std::int32_t id : chunk.tokens) {
      const std::int64_t p = lengths_.at(s)++;
      HEARTH_CHECK_LT(p, options_.max_context);
      if (all_rows) logit_rows.push_back(static_cast<std::int32_t>(ids.size()));
      ids.push_back(id);
      positions.push_back(static_cast<std::int32_t>(p));
      seq_of_row.push_back(static_cast<std::int32_t>(seq_lens.size()));
      slot_mapping.push_back(static_cast<std::int32_t>(blocks_[s][static_cast<std::size_t>(p / N)] * N + p % N));
    }
    if (!all_rows) logit_rows.push_back(static_cast<std::int32_t>(ids.size()) - 1);
    cu.push_back(static_cast<std::int32_t>(ids.size()));
    seq_lens.push_back(static_cast<std::int32_t>(lengths_[s]));
    tables.insert(tables.end(), blocks_[s].begin(), blocks_[s].end());
    state_slots.push_back(slots_[s]);
  }
  HEARTH_CHECK_LE(static_cast<std::int64_t>(ids.size()), options_.max_batch_tokens);

  std::vector<Buffer> inputs;
  const auto place = [&](const std::vector<std::int32_t>& v, std::initializer_list<std::int64_t> shape) {
    inputs.push_back(ops_.device().alloc(std::max<std::size_t>(v.size(), 1) * 4, "activations"));
    ops_.device().copy_in(inputs.back().data(), v.data(), v.size() * 4);
    return Tensor(inputs.back().data(), DType::i32, shape);
  };
  const auto T = static_cast<std::int64_t>(ids.size()), B = static_cast<std::int64_t>(chunks.size());
  const auto L = static_cast<std::int64_t>(logit_rows.size());
  StepInput in;
  in.token_ids = place(ids, {T});
  in.logit_rows = place(logit_rows, {L});
  in.batch = {place(positions, {T}),           place(seq_of_row, {T}),   place(cu, {B + 1}),      place(seq_lens, {B}),
              place(tables, {B, max_blocks_}), place(slot_mapping, {T}), place(state_slots, {B}), N};

  Arena arena(arena_memory_.data(), arena_bytes_);
  Ctx c(&ops_, arena, ops_.act_dtype());
  c.probe = probe;
  const Tensor logits = model_->forward(c, in, caches_);
  HEARTH_CHECK_EQ(logits.dim(0), L);
  std::vector<float> out(static_cast<std::size_t>(logits.size()));
  ops_.device().copy_out(out.data(), logits.data, out.size() * sizeof(float));
  return out;
}

std::vector<float> ModelHarness::run(std::span<const std::int32_t> ids, const std::vector<std::int64_t>& pieces,
                                     bool all_rows) {
  forget(0);
  std::vector<float> out;
  auto at = ids.begin();
  for (const std::int64_t n : pieces) {
    const std::vector<float> logits = step({{0, {at, at + n}}}, all_rows);
    if (!all_rows) out.clear();
    out.insert(out.end(), logits.begin(), logits.end());
    at += n;
  }
  HEARTH_CHECK(at == ids.end());
  return out;
}

std::vector<float> ModelHarness::cache_rows(const Tensor& cache, int seq) const {
  const auto s = static_cast<std::size_t>(seq);
  const std::int64_t N = options_.block_tokens, row = cache.dim(2) * cache.dim(3);
  const int width = dtype_bytes(cache.dtype);
  std::vector<float> out;
  std::vector<std::byte> bytes(static_cast<std::size_t>(row * width));
  for (std::int64_t p = 0; p < lengths_.at(s); ++p) {
    const std::int64_t slot = blocks_[s][static_cast<std::size_t>(p / N)] * N + p % N;
    ops_.device().copy_out(bytes.data(), cache.ptr<char>() + slot * row * width, bytes.size());
    for (std::int64_t i = 0; i < row; ++i) {
      if (cache.dtype == DType::f32) {
        out.push_back(reinterpret_cast<const float*>(bytes.data())[i]);
      } else {
        const std::uint16_t bits = reinterpret_cast<const std::uint16_t*>(bytes.data())[i];
        out.push_back(cache.dtype == DType::bf16 ? bf16_to_f32(bits) : f16_to_f32(bits));
      }
    }
  }
  return out;
}

std::vector<float> ModelHarness::slot_numbers(const Tensor& state, int seq) const {
  const std::int64_t n = state.size() / state.dim(0);
  std::vector<float> out(static_cast<std::size_t>(n));
  ops_.device().copy_out(out.data(), state.ptr<float>() + slots_.at(static_cast<std::size_t>(seq)) * n,
                         out.size() * sizeof(float));
  return out;
}

std::vector<float> ModelHarness::k_rows(int seq, int layer) const {
  return cache_rows(caches_.kv.at(static_cast<std::size_t>(layer)).k, seq);
}
std::vector<float> ModelHarness::v_rows(int seq, int layer) const {
  return cache_rows(caches_.kv.at(static_cast<std::size_t>(layer)).v, seq);
}
std::vector<float> ModelHarness::conv_state(int seq, int layer) const {
  return slot_numbers(caches_.conv_state.at(static_cast<std::size_t>(layer)), seq);
}
std::vector<float> ModelHarness::recurrent_state(int seq, int layer) const {
  return slot_numbers(caches_.recurrent_state.at(static_cast<std::size_t>(layer)), seq);
}

std::int32_t argmax(std::span<const float> row) {
  return static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

}  // namespace hearth
