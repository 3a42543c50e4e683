#include "engine/device_runner.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"

namespace hearth {
namespace {

constexpr std::size_t kAlign = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + kAlign - 1) / kAlign * kAlign; }

Tensor shape_only(std::initializer_list<std::int64_t> shape) { return Tensor(nullptr, DType::i32, shape); }

std::int64_t step_tensor_bytes(const DeviceRunnerConfig& c) {
  const auto t = static_cast<std::size_t>(c.max_batch_tokens), b = static_cast<std::size_t>(c.max_seqs);
  const std::size_t sizes[] = {
      t, t, t, t, b + 1, b, b, b * static_cast<std::size_t>(c.max_blocks()), static_cast<std::size_t>(c.logit_rows())};
  std::size_t bytes = 0;
  for (const std::size_t n : sizes) bytes += aligned(n * sizeof(std::int32_t));
  return static_cast<std::int64_t>(bytes);
}

// The caches' tensors in the memory at `base`, or only their sizes with base == nullptr. Gives the bytes they take.
std::size_t lay_out_kv(const CacheSpec& spec, const DeviceRunnerConfig& c, char* base, StepCaches& caches) {
  std::size_t at = 0;
  auto make = [&] {
    Tensor t(base != nullptr ? base + at : nullptr, c.kv_dtype,
             {c.num_blocks, c.block_tokens, spec.num_kv_heads, spec.head_dim});
    at += aligned(static_cast<std::size_t>(t.size_bytes()));
    return t;
  };
  caches.kv.clear();
  for (int i = 0; i < spec.num_kv_layers; ++i) {
    KvCache cache;
    cache.k = make();
    cache.v = make();
    caches.kv.push_back(cache);
  }
  return at;
}

std::size_t lay_out_state(const CacheSpec& spec, const DeviceRunnerConfig& c, char* base, StepCaches& caches) {
  std::size_t at = 0;
  auto make = [&](std::initializer_list<std::int64_t> shape) {
    Tensor t(base != nullptr ? base + at : nullptr, DType::f32, shape);
    at += aligned(static_cast<std::size_t>(t.size_bytes()));
    return t;
  };
  caches.conv_state.clear();
  caches.recurrent_state.clear();
  for (int i = 0; i < spec.num_state_layers; ++i) {
    caches.conv_state.push_back(make({c.num_state_slots, 3, spec.conv_channels}));
    caches.recurrent_state.push_back(make({c.num_state_slots, spec.state_heads, spec.state_dk, spec.state_dv}));
  }
  return at;
}

// One forward that only counts: the arena's bytes, and what the operations of the largest step will be asked for.
struct Counted {
  std::size_t arena = 0;
  StepShape shape;
};
Counted count_step(Model& model, DType act, const DeviceRunnerConfig& c) {
  DeviceRunnerConfig one = c;
  one.num_blocks = std::max(1, c.num_blocks);
  one.num_state_slots = std::max(1, c.num_state_slots);
  StepCaches caches;
  lay_out_kv(model.info().cache, one, nullptr, caches);
  lay_out_state(model.info().cache, one, nullptr, caches);
  StepInput in;
  in.token_ids = shape_only({c.max_batch_tokens});
  in.logit_rows = shape_only({c.logit_rows()});
  in.batch.positions = in.batch.seq_of_row = in.batch.slot_mapping = shape_only({c.max_batch_tokens});
  in.batch.cu_seqlens_q = shape_only({c.max_seqs + 1});
  in.batch.seq_lens = in.batch.state_slots = shape_only({c.max_seqs});
  in.batch.block_tables = shape_only({c.max_seqs, c.max_blocks()});
  in.batch.block_tokens = c.block_tokens;
  Counted counted;
  counted.shape.tokens = c.max_batch_tokens;
  counted.shape.sequences = c.max_seqs;
  counted.shape.context = c.max_model_len;
  Arena arena;
  Ctx counting = Ctx::plan(arena, act, counted.shape);
  model.forward(counting, in, caches);
  counted.arena = arena.peak_bytes();
  return counted;
}

// Rows of logits that are sampled side by side: more threads would wait for memory, and each sampler keeps some of it.
std::size_t num_samplers(const Ops& ops, const DeviceRunnerConfig& c) {
  constexpr int kMost = 4;
  return static_cast<std::size_t>(std::min({kMost, ops.num_threads(), static_cast<int>(c.max_seqs)}));
}

}  // namespace

std::int32_t DeviceRunnerConfig::logit_rows() const {
  return max_logit_rows > 0 ? std::max(max_logit_rows, max_seqs) : std::max(max_seqs, 64);
}

std::int64_t DeviceRunnerConfig::max_blocks() const { return (max_model_len + block_tokens - 1) / block_tokens; }

DevicePlan plan_device(Model& model, Ops& ops, const DeviceRunnerConfig& config) {
  DevicePlan plan;
  const Counted counted = count_step(model, ops.act_dtype(), config);
  plan.logits = config.logit_rows() * model.info().vocab_size * std::int64_t{sizeof(float)};
  plan.activations = std::max<std::int64_t>(0, static_cast<std::int64_t>(counted.arena) - plan.logits);
  plan.workspace = static_cast<std::int64_t>(ops.workspace_bytes(counted.shape));
  const auto vocab = static_cast<std::size_t>(model.info().vocab_size);
  plan.sampling =
      static_cast<std::int64_t>(num_samplers(ops, config) * (Sampler::bytes(vocab) + vocab * sizeof(float)));
  plan.step_tensors = step_tensor_bytes(config);
  return plan;
}

DeviceRunner::DeviceRunner(std::unique_ptr<Model> model, Ops& ops, const DeviceRunnerConfig& config,
                           const std::function<void(std::int64_t)>& reserved)
    : model_(std::move(model)), ops_(ops), config_(config) {
  const ModelInfo& m = model_->info();
  HEARTH_CHECK(config.num_blocks >= 1);
  HEARTH_CHECK(m.cache.num_state_layers == 0 || config.num_state_slots >= 1);
  info_.vocab_size = static_cast<std::int32_t>(m.vocab_size);
  info_.block_tokens = config.block_tokens;
  info_.num_blocks = config.num_blocks;
  info_.num_state_slots = m.cache.num_state_layers > 0 ? config.num_state_slots : 0;
  info_.max_batch_tokens = config.max_batch_tokens;
  info_.max_seqs = config.max_seqs;
  info_.max_logit_rows = config.logit_rows();

  Device& device = ops_.device();
  auto take = [&](std::size_t bytes, std::string_view purpose) {
    Buffer buffer = device.alloc(bytes, purpose);
    device.commit(buffer, reserved);
    return buffer;
  };
  if (const std::size_t bytes = lay_out_kv(m.cache, config_, nullptr, caches_); bytes > 0) {
    cache_buffers_.push_back(take(bytes, "kv_cache"));
    lay_out_kv(m.cache, config_, static_cast<char*>(cache_buffers_.back().data()), caches_);
  }
  if (const std::size_t bytes = lay_out_state(m.cache, config_, nullptr, caches_); bytes > 0) {
    cache_buffers_.push_back(take(bytes, "state"));
    lay_out_state(m.cache, config_, static_cast<char*>(cache_buffers_.back().data()), caches_);
  }
  const Counted counted = count_step(*model_, ops_.act_dtype(), config_);
  arena_buffer_ = take(counted.arena, "activations");
  arena_ = Arena(arena_buffer_.data(), counted.arena);
  step_buffer_ = take(static_cast<std::size_t>(step_tensor_bytes(config_)), "other");
  step_host_.resize(step_buffer_.bytes());
  ops_.reserve(counted.shape);
  samplers_.resize(num_samplers(ops_, config_), {Sampler(config.logprobs_mode), {}});
  for (RowSampler& s : samplers_) {
    s.sampler.reserve(static_cast<std::size_t>(m.vocab_size));
    s.row.resize(static_cast<std::size_t>(m.vocab_size));
  }
}

Tensor DeviceRunner::put(const std::vector<std::int32_t>& values, std::initializer_list<std::int64_t> shape) {
  const std::size_t bytes = values.size() * sizeof(std::int32_t);
  HEARTH_CHECK_LE(step_used_ + bytes, step_buffer_.bytes());
  Tensor t(static_cast<char*>(step_buffer_.data()) + step_used_, DType::i32, shape);
  HEARTH_CHECK_EQ(static_cast<std::size_t>(t.size()), values.size());
  if (bytes > 0) std::memcpy(step_host_.data() + step_used_, values.data(), bytes);
  step_used_ += aligned(bytes);
  return t;
}

void DeviceRunner::copy_caches(const StepBatch& batch) {
  const auto copy = [&](const Tensor& cache, const std::vector<CacheCopy>& copies) {  // of entries of the first axis
    const auto bytes = static_cast<std::size_t>(cache.size_bytes() / cache.dim(0));
    auto* base = static_cast<char*>(cache.data);
    for (const CacheCopy& c : copies)
      ops_.device().copy(base + static_cast<std::size_t>(c.to) * bytes, base + static_cast<std::size_t>(c.from) * bytes,
                         bytes);
  };
  for (const KvCache& kv : caches_.kv) {
    copy(kv.k, batch.block_copies);
    copy(kv.v, batch.block_copies);
  }
  for (const Tensor& state : caches_.conv_state) copy(state, batch.state_copies);
  for (const Tensor& state : caches_.recurrent_state) copy(state, batch.state_copies);
}

std::vector<SampledRow> DeviceRunner::step(const StepBatch& batch) {
  const auto t = static_cast<std::int64_t>(batch.token_ids.size()),
             b = static_cast<std::int64_t>(batch.seq_lens.size());
  logit_rows_.clear();  // each once, though several samples may read it
  logits_of_sample_.clear();
  for (const SampleRow& sample : batch.samples) {
    if (logit_rows_.empty() || logit_rows_.back() != sample.row) logit_rows_.push_back(sample.row);
    logits_of_sample_.push_back(static_cast<std::int32_t>(logit_rows_.size()) - 1);
  }
  const auto l = static_cast<std::int64_t>(logit_rows_.size());
  HEARTH_CHECK_LE(t, std::int64_t{config_.max_batch_tokens});
  HEARTH_CHECK_LE(b, std::int64_t{config_.max_seqs});
  HEARTH_CHECK_LE(l, std::int64_t{config_.logit_rows()});
  HEARTH_CHECK_LE(std::int64_t{batch.max_blocks}, config_.max_blocks());
  seq_of_row_.clear();
  for (std::int64_t i = 0; i < b; ++i)
    seq_of_row_.insert(seq_of_row_.end(),
                       static_cast<std::size_t>(batch.cu_seqlens_q[static_cast<std::size_t>(i) + 1] -
                                                batch.cu_seqlens_q[static_cast<std::size_t>(i)]),
                       static_cast<std::int32_t>(i));

  step_used_ = 0;
  StepInput in;
  in.token_ids = put(batch.token_ids, {t});
  in.logit_rows = put(logit_rows_, {l});
  in.batch.positions = put(batch.positions, {t});
  in.batch.seq_of_row = put(seq_of_row_, {t});
  in.batch.cu_seqlens_q = put(batch.cu_seqlens_q, {b + 1});
  in.batch.seq_lens = put(batch.seq_lens, {b});
  // Of a step that may be repeated the table grows in powers of two.
  const std::int64_t width =
      t == b ? std::min<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(batch.max_blocks)), config_.max_blocks())
             : batch.max_blocks;
  block_tables_.assign(static_cast<std::size_t>(b * width), 0);
  for (std::int64_t i = 0; i < b; ++i)
    std::copy_n(batch.block_tables.begin() + i * batch.max_blocks, batch.max_blocks, block_tables_.begin() + i * width);
  in.batch.block_tables = put(block_tables_, {b, width});
  in.batch.slot_mapping = put(batch.slot_mapping, {t});
  in.batch.state_slots = put(batch.state_slots, {b});
  in.batch.block_tokens = config_.block_tokens;

  ops_.device().copy_in(step_buffer_.data(), step_host_.data(), step_used_);

  const auto forward = [&] {
    arena_.reset();
    Ctx c(&ops_, arena_, ops_.act_dtype());
    return model_->forward(c, in, caches_);
  };
  Tensor logits;
  if (t == b && width > 0) {  // one row a sequence: the same launches whenever these numbers are the same
    const std::int64_t key[] = {t, l, width};
    Tensor& known = repeated_logits_[{t, l, width}];
    ops_.repeat(key, [&] { known = forward(); });
    logits = known;
  } else {
    logits = forward();
  }
  last_rows_ = t;
  copy_caches(batch);

  return sample(logits, batch);
}

std::vector<SampledRow> DeviceRunner::sample(const Tensor& logits, const StepBatch& batch) {
  constexpr std::size_t kWorthSharing = 1 << 17;  // logits: tens of microseconds
  std::vector<SampledRow> rows(batch.samples.size());
  const std::size_t n = rows.size();
  const std::size_t shares =
      n * static_cast<std::size_t>(info_.vocab_size) < kWorthSharing ? 1 : std::min(n, samplers_.size());
  ops_.parallel(static_cast<std::int64_t>(shares), [&](std::int64_t share) {
    RowSampler& mine = samplers_[static_cast<std::size_t>(share)];
    for (auto i = static_cast<std::size_t>(share); i < n; i += shares) {
      ops_.device().copy_out(mine.row.data(), logits.row<float>(logits_of_sample_[i]), mine.row.size() * sizeof(float));
      rows[i] = mine.sampler.sample(mine.row, batch.samples[i]);
    }
  });
  return rows;
}

}  // namespace hearth
