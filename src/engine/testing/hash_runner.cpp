#include "engine/testing/hash_runner.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

#include "base/check.h"
#include "base/rng.h"

namespace hearth {
namespace {

std::uint64_t extend(std::uint64_t hash, std::int32_t token) {
  return mix64(hash ^ (static_cast<std::uint64_t>(token) + 0x51ull));
}

bool has(const std::vector<std::int32_t>& ids, std::int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

std::uint64_t seen(std::uint64_t context, std::uint64_t state, bool recurrent) {
  return recurrent ? mix64(context ^ (state << 1)) : context;
}

float logprob_of(std::uint64_t hash, std::int32_t token) {
  return -static_cast<float>(mix64(hash + static_cast<std::uint64_t>(token)) % 10000) / 1000.0f;
}

TokenOutput output_of(std::uint64_t hash, std::int32_t token, int logprobs, std::int32_t vocab) {
  TokenOutput out;
  out.token = token;
  if (logprobs < 0) return out;
  out.logprob = logprob_of(hash, token);
  out.rank = 1;
  for (int i = 0; i < std::min(logprobs, vocab); ++i) out.top.push_back({i, logprob_of(hash, i), i + 1});
  return out;
}

TokenOutput choose(std::uint64_t hash, const SamplingParams& p, std::uint64_t seed, std::size_t num_output,
                   std::int32_t vocab) {
  const std::uint64_t h = p.greedy() ? hash : mix64(hash ^ random_bits(seed, num_output));
  auto token = static_cast<std::int32_t>(h % static_cast<std::uint64_t>(vocab));
  if (static_cast<int>(num_output) < p.min_tokens)
    while ((!p.ignore_eos && has(p.eos_token_ids, token)) || has(p.stop_token_ids, token)) token = (token + 1) % vocab;
  return output_of(hash, token, p.logprobs, vocab);
}

}  // namespace

HashRunner::HashRunner(HashRunnerConfig config)
    : config_(std::move(config)),
      kv_(static_cast<std::size_t>(config_.info.num_blocks) * static_cast<std::size_t>(config_.info.block_tokens), -1),
      state_(static_cast<std::size_t>(config_.info.num_state_slots), 0xdead) {}

SampledRow HashRunner::sample(const SampleRow& row, std::uint64_t hash) const {
  SampledRow out;
  if (row.params->debug_poison_nan) {
    out.error = {Code::internal, "the logits of this token are not numbers (NaN)", {}};
  } else if (row.sample) {
    out.token = choose(hash, *row.params, row.seed, row.output.size(), config_.info.vocab_size);
  } else {
    out.token = output_of(hash, row.target, row.params->prompt_logprobs, config_.info.vocab_size);
  }
  return out;
}

std::vector<SampledRow> HashRunner::step(const StepBatch& batch) {
  if (config_.observe) config_.observe(batch);
  if (num_steps_++ == config_.throw_at_step) throw std::runtime_error("the device is lost");
  const std::int32_t n = config_.info.block_tokens;
  const bool recurrent = config_.info.num_state_slots > 0;
  const std::size_t num_sequences = batch.seq_lens.size();
  HEARTH_CHECK_EQ(batch.cu_seqlens_q.size(), num_sequences + 1);
  HEARTH_CHECK_EQ(static_cast<std::size_t>(batch.cu_seqlens_q.back()), batch.token_ids.size());
  HEARTH_CHECK_LE(static_cast<std::int32_t>(batch.token_ids.size()), config_.info.max_batch_tokens);
  HEARTH_CHECK_LE(static_cast<std::int32_t>(num_sequences), config_.info.max_seqs);
  std::int32_t logit_rows = 0, last_row = -1;
  for (const SampleRow& sample : batch.samples) {
    HEARTH_CHECK_LE(last_row, sample.row);
    logit_rows += sample.row != last_row ? 1 : 0;
    last_row = sample.row;
  }
  if (config_.info.max_logit_rows > 0) HEARTH_CHECK_LE(logit_rows, config_.info.max_logit_rows);

  std::vector<SampledRow> rows;
  std::size_t next_sample = 0;
  for (std::size_t b = 0; b < num_sequences; ++b) {
    const std::int32_t begin = batch.cu_seqlens_q[b], end = batch.cu_seqlens_q[b + 1];
    HEARTH_CHECK_LT(begin, end);
    const std::int32_t* table = batch.block_tables.data() + b * static_cast<std::size_t>(batch.max_blocks);
    std::uint64_t state = 0;
    if (recurrent) {
      HEARTH_CHECK(batch.state_slots[b] >= 0 && batch.state_slots[b] < config_.info.num_state_slots);
      if (batch.positions[static_cast<std::size_t>(begin)] > 0)
        state = state_[static_cast<std::size_t>(batch.state_slots[b])];
    }
    // The context before this step's rows, read back through the table.
    std::uint64_t context = 0;
    const std::int32_t first = batch.positions[static_cast<std::size_t>(begin)];
    for (std::int32_t p = 0; p < first; ++p)
      context = extend(context, kv_[static_cast<std::size_t>(table[p / n] * n + p % n)]);
    for (std::int32_t t = begin; t < end; ++t) {
      const auto at = static_cast<std::size_t>(t);
      const std::int32_t p = batch.positions[at];
      HEARTH_CHECK_EQ(p, first + (t - begin));
      HEARTH_CHECK_EQ(batch.slot_mapping[at], table[p / n] * n + p % n);
      kv_[static_cast<std::size_t>(batch.slot_mapping[at])] = batch.token_ids[at];
      context = extend(context, kv_[static_cast<std::size_t>(table[p / n] * n + p % n)]);
      state = extend(state, batch.token_ids[at]);
      while (next_sample < batch.samples.size() && batch.samples[next_sample].row == t) {
        const SampleRow& sample_row = batch.samples[next_sample++];
        if (sample_row.sample)
          HEARTH_CHECK_EQ(sample_row.prompt.size() + sample_row.output.size(), static_cast<std::size_t>(p) + 1);
        rows.push_back(sample(sample_row, seen(context, state, recurrent)));
      }
    }
    HEARTH_CHECK_EQ(batch.seq_lens[b], first + (end - begin));
    if (recurrent) state_[static_cast<std::size_t>(batch.state_slots[b])] = state;
  }
  HEARTH_CHECK_EQ(next_sample, batch.samples.size());
  for (const CacheCopy& c : batch.block_copies) {
    HEARTH_CHECK(c.from != c.to);
    std::copy_n(kv_.begin() + std::ptrdiff_t{c.from} * n, n, kv_.begin() + std::ptrdiff_t{c.to} * n);
  }
  for (const CacheCopy& c : batch.state_copies)
    state_.at(static_cast<std::size_t>(c.to)) = state_.at(static_cast<std::size_t>(c.from));
  if (config_.clock != nullptr) config_.clock->advance(config_.step_seconds);
  if (config_.sleep_seconds > 0) std::this_thread::sleep_for(std::chrono::duration<double>(config_.sleep_seconds));
  return rows;
}

StraightLine straight_line(const Request& request, int index, const RunnerInfo& info, std::int32_t max_model_len) {
  const SamplingParams& p = request.sampling;
  const bool recurrent = info.num_state_slots > 0;
  const std::uint64_t seed = static_cast<std::uint64_t>(p.seed.value_or(0)) + static_cast<std::uint64_t>(index);
  StraightLine line;
  std::uint64_t context = 0;
  for (const std::int32_t token : request.prompt)
    context = extend(context, token);  // context and state are the same fold
  auto length = static_cast<std::int32_t>(request.prompt.size());
  while (line.finish == FinishReason::none) {
    if (static_cast<int>(line.tokens.size()) >= request.max_tokens || length >= max_model_len) {
      line.finish = FinishReason::length;
      break;
    }
    line.tokens.push_back(choose(seen(context, context, recurrent), p, seed, line.tokens.size(), info.vocab_size));
    const std::int32_t token = line.tokens.back().token;
    context = extend(context, token);
    ++length;
    const bool stops = (!p.ignore_eos && has(p.eos_token_ids, token)) || has(p.stop_token_ids, token);
    if (stops && static_cast<int>(line.tokens.size()) >= p.min_tokens) {
      line.finish = FinishReason::stop;
      line.stop_token = token;
    }
  }
  return line;
}

std::vector<TokenOutput> straight_line_prompt(const Request& request, const RunnerInfo& info) {
  std::vector<TokenOutput> rows(1);
  rows[0].token = request.prompt.front();
  std::uint64_t context = 0;
  for (std::size_t i = 0; i + 1 < request.prompt.size(); ++i) {
    context = extend(context, request.prompt[i]);
    rows.push_back(output_of(seen(context, context, info.num_state_slots > 0), request.prompt[i + 1],
                             request.sampling.prompt_logprobs, info.vocab_size));
  }
  return rows;
}

}  // namespace hearth
