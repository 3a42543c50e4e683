#include "engine/testing/sim.h"

#include <algorithm>
#include <memory>
#include <set>
#include <vector>

#include "base/rng.h"
#include "engine/engine.h"
#include "engine/engine_metrics.h"
#include "engine/testing/hash_runner.h"

namespace hearth {
namespace {

constexpr std::int32_t kMostRequests = 16, kMostChoices = 4;

// No std::exception: the engine takes those for the loss of the device.
struct SimFailure {
  std::string what;
};

void expect(bool good, const std::string& what) {
  if (!good) throw SimFailure{what};
}

// ---- what was asked and what came back ------------------------------------------------------------------------------------

struct Choice {
  std::vector<TokenOutput> tokens;
  FinishReason finish = FinishReason::none;
  std::int32_t stop_token = -1;
  bool stopped = false;  // stop_choice was called
  bool silent = false;   // and the engine has had a step to hear it
};

struct Asked final : OutputSink {
  Request request;
  std::vector<Choice> choices;
  std::vector<TokenOutput> prompt_rows;
  int num_prompt_calls = 0;
  bool aborted = false;
  int num_done = 0;
  RequestTimes times;
  int num_preemptions = 0;

  void on_prompt_logprobs(std::vector<TokenOutput> rows) override {
    ++num_prompt_calls;
    for (const Choice& c : choices)
      expect(c.tokens.empty() && c.finish == FinishReason::none, "prompt logprobs came after output");
    prompt_rows = std::move(rows);
  }
  void on_output(ChoiceOutput out) override {
    expect(num_done == 0, "output after on_done");
    Choice& c = choices.at(static_cast<std::size_t>(out.index));
    expect(c.finish == FinishReason::none, "output after the choice ended");
    expect(!c.silent, "output a step after stop_choice");
    for (TokenOutput& t : out.tokens) c.tokens.push_back(std::move(t));
    c.finish = out.finish;
    c.stop_token = out.stop_token;
    expect((out.finish == FinishReason::error) != out.error.ok(),
           "an error without its reason, or a reason without an error");
  }
  void on_done(const RequestTimes& t, int num_cached, int preemptions) override {
    ++num_done;
    times = t;
    num_preemptions = preemptions;
    expect(num_cached == 0, "cached tokens without a prefix cache");
  }
};

struct Totals final : EngineMetrics {
  std::int64_t steps = 0, tokens = 0, prompt = 0, generation = 0, preemptions = 0, ttfts = 0, itls = 0, done = 0;
  std::int64_t done_generation = 0, done_preemptions = 0;
  void on_step(const StepStats& s) override {
    ++steps;
    tokens += s.num_tokens;
    prompt += s.num_prompt_tokens;
    generation += s.num_generation_tokens;
    preemptions += s.num_preemptions;
    ttfts += static_cast<std::int64_t>(s.ttft_seconds.size());
    itls += static_cast<std::int64_t>(s.inter_token_seconds.size());
  }
  void on_request_done(const RequestStats& s) override {
    ++done;
    done_generation += s.num_generation_tokens();
    done_preemptions += s.num_preemptions;
  }
};

bool same(const TokenOutput& a, const TokenOutput& b) {
  if (a.token != b.token || a.logprob != b.logprob || a.rank != b.rank || a.top.size() != b.top.size()) return false;
  for (std::size_t i = 0; i < a.top.size(); ++i)
    if (a.top[i].token != b.top[i].token || a.top[i].logprob != b.top[i].logprob) return false;
  return true;
}

// ---- the simulation -------------------------------------------------------------------------------------------------------

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : rng_(seed) {
    draw_limits();
    HashRunnerConfig runner;
    runner.info = info_;
    runner.clock = &clock_;
    if (one_in(50)) runner.throw_at_step = static_cast<std::int64_t>(rng_.below(40));
    runner.observe = [this](const StepBatch& batch) { check_limits(batch); };
    throws_ = runner.throw_at_step >= 0;
    engine_ = std::make_unique<Engine>(config_, std::make_unique<HashRunner>(runner), clock_, &totals_);
    draw_requests();
  }

  SimResult run() {
    std::size_t next = 0;
    bool busy = true;
    while (busy || next < plans_.size()) {
      while (next < plans_.size() && (one_in(3) || (!busy && one_in(2)))) submit(plans_[next++]);
      if (one_in(12)) disturb();
      step();
      busy = last_step_;
      clock_.advance(0.001);
      expect(num_steps_ < 1000000, "it does not end");
    }
    check_end();
    SimResult result;
    result.num_steps = num_steps_;
    result.num_requests = static_cast<std::int64_t>(asked_.size());
    result.num_preemptions = totals_.preemptions;
    result.num_tokens = totals_.tokens;
    result.num_copies = num_copies_;
    return result;
  }

 private:
  std::int32_t between(std::int64_t low, std::int64_t high) {
    return static_cast<std::int32_t>(low +
                                     static_cast<std::int64_t>(rng_.below(static_cast<std::uint64_t>(high - low + 1))));
  }
  bool one_in(std::uint64_t n) { return rng_.below(n) == 0; }

  void draw_limits() {
    info_.vocab_size = between(2, 40);
    info_.block_tokens = between(1, 5);
    config_.max_model_len = between(2, 40);
    config_.max_num_seqs = between(1, 6);
    const std::int32_t full = (config_.max_model_len + info_.block_tokens - 1) / info_.block_tokens;
    // Sometimes less than one full sequence: then some requests are refused.
    info_.num_blocks = std::max(1, one_in(6) ? between(1, full) : between(full, (one_in(2) ? 2 : 4) * full));
    info_.num_state_slots = one_in(2) ? 0 : between(1, config_.max_num_seqs);
    config_.enable_chunked_prefill = !one_in(4);
    config_.max_num_batched_tokens = between(config_.max_num_seqs, config_.max_num_seqs + (one_in(2) ? 4 : 40));
    if (!config_.enable_chunked_prefill)
      config_.max_num_batched_tokens = std::max(config_.max_num_batched_tokens, config_.max_model_len);
    if (one_in(3)) config_.long_prefill_token_threshold = between(1, config_.max_model_len);
    config_.policy = one_in(2) ? SchedulingPolicy::fcfs : SchedulingPolicy::priority;
    config_.seed = rng_.next();
    if (one_in(4)) make_roomy();
    info_.max_batch_tokens = config_.max_num_batched_tokens + between(0, 3);
    info_.max_seqs = config_.max_num_seqs + between(0, 2);
    info_.max_logit_rows = one_in(2) ? 0 : between(info_.max_seqs, info_.max_seqs + 5);
  }

  // A seat, a slot and blocks for every choice there can be: nothing is preempted, and each prompt is computed once, whatever n.
  void make_roomy() {
    roomy_ = true;
    config_.max_num_seqs = kMostRequests * kMostChoices;
    info_.num_blocks = config_.max_num_seqs * (config_.max_model_len + 2);
    if (info_.num_state_slots > 0) info_.num_state_slots = config_.max_num_seqs;
    config_.max_num_batched_tokens = std::max(config_.max_num_batched_tokens, config_.max_num_seqs);
  }

  void draw_requests() {
    const std::int32_t count = between(1, kMostRequests);
    const bool prompt_logprobs = one_in(3);
    any_prompt_logprobs_ = prompt_logprobs;
    for (std::int32_t i = 0; i < count; ++i) {
      Request r;
      r.id = "r" + std::to_string(i);
      const std::int32_t length =
          one_in(12) ? config_.max_model_len + between(0, 1) : between(1, std::max(1, config_.max_model_len - 1));
      for (std::int32_t p = 0; p < length; ++p) r.prompt.push_back(between(0, info_.vocab_size - 1));
      r.max_tokens = between(1, one_in(3) ? 60 : 12);
      r.n = one_in(3) ? between(2, kMostChoices) : 1;
      r.priority = between(-1, 2);
      SamplingParams& p = r.sampling;
      p.temperature = one_in(2) ? 0.0f : 1.0f;
      p.seed = static_cast<std::int64_t>(rng_.next());
      if (one_in(2)) p.eos_token_ids.push_back(between(0, info_.vocab_size - 1));
      if (one_in(4)) p.stop_token_ids.push_back(between(0, info_.vocab_size - 1));
      p.ignore_eos = one_in(4);
      if (info_.vocab_size > 2 && one_in(4)) p.min_tokens = between(1, r.max_tokens);
      if (one_in(4)) p.logprobs = between(0, 3);
      if (prompt_logprobs && one_in(2)) {
        p.prompt_logprobs = between(0, 2);
        if (one_in(3)) r.max_tokens = 0, p.min_tokens = 0;
      }
      p.debug_poison_nan = one_in(40);
      plans_.push_back(std::move(r));
    }
  }

  void submit(Request request) {
    auto asked = std::make_shared<Asked>();
    asked->request = request;
    asked->choices.resize(static_cast<std::size_t>(request.n));
    request.sink = asked;
    const auto prompt = static_cast<std::int32_t>(request.prompt.size());
    const std::int32_t last_run =
        std::min(prompt + std::max(0, request.max_tokens - 1), std::max(prompt, config_.max_model_len - 1));
    const bool fits = prompt + (request.max_tokens > 0 ? 1 : 0) <= config_.max_model_len &&
                      (last_run + info_.block_tokens - 1) / info_.block_tokens <= info_.num_blocks;
    const bool alive = engine_->stats().alive;
    const Status status = engine_->submit(std::move(request));
    expect(status.ok() == (fits && alive), "refused wrongly, or accepted what cannot fit: " + status.message);
    if (!status.ok()) return;
    steps_allowed_ += std::int64_t{asked->request.n} * (prompt + asked->request.max_tokens + 2);
    asked_.push_back(std::move(asked));
  }

  void disturb() {
    if (asked_.empty()) return;
    Asked& a = *asked_[rng_.below(asked_.size())];
    const bool live = a.num_done == 0;
    if (one_in(2)) {
      engine_->abort(a.request.id);
      a.aborted = a.aborted || live;
    } else {
      const auto index = rng_.below(a.choices.size());
      Choice& c = a.choices[index];
      if (c.finish != FinishReason::none) return;
      if (c.tokens.empty() && !one_in(4)) return;  // a stop string needs text, but nobody promised to wait for it
      engine_->stop_choice(a.request.id, static_cast<int>(index));
      c.stopped = true;
    }
  }

  void step() {
    // Whoever was cut off before this step must be gone after it.
    for (const auto& a : asked_)
      for (Choice& c : a->choices) c.silent = c.stopped;
    last_step_ = engine_->step();
    ++num_steps_;
    for (const auto& a : asked_)
      if (a->aborted) expect(a->num_done == 1, "alive a step after its abort");
  }

  void check_limits(const StepBatch& batch) {
    expect(static_cast<std::int32_t>(batch.token_ids.size()) <= config_.max_num_batched_tokens,
           "more tokens than max_num_batched_tokens");
    expect(static_cast<std::int32_t>(batch.seq_lens.size()) <= config_.max_num_seqs,
           "more sequences than max_num_seqs");
    std::set<std::int32_t> written, slots, copied;
    num_copies_ += static_cast<std::int64_t>(batch.block_copies.size() + batch.state_copies.size());
    for (const CacheCopy& c : batch.block_copies)
      expect(copied.insert(c.to).second && !copied.contains(c.from), "a block is copied over a copy");
    for (const std::int32_t s : batch.slot_mapping) expect(written.insert(s).second, "two rows write one place");
    for (std::size_t b = 0; b < batch.seq_lens.size(); ++b) {
      const std::int32_t rows = batch.cu_seqlens_q[b + 1] - batch.cu_seqlens_q[b];
      const std::int32_t first = batch.positions[static_cast<std::size_t>(batch.cu_seqlens_q[b])];
      if (!config_.enable_chunked_prefill && !any_prompt_logprobs_)
        expect(first == 0 || rows == 1, "a prompt was cut with chunked prefill off");
      if (config_.enable_chunked_prefill && config_.long_prefill_token_threshold > 0)
        expect(rows <= config_.long_prefill_token_threshold, "a chunk above long_prefill_token_threshold");
      if (info_.num_state_slots > 0)
        expect(slots.insert(batch.state_slots[b]).second, "two sequences in one state slot");
    }
    for (const CacheCopy& c : batch.state_copies)
      expect(slots.contains(c.from) && slots.insert(c.to).second, "two sequences in one state slot");
    work_steps_ += 1;
  }

  void check_choice(const Asked& a, std::size_t index) {
    const Choice& c = a.choices[index];
    const StraightLine line = straight_line(a.request, static_cast<int>(index), info_, config_.max_model_len);
    const std::string who = a.request.id + "[" + std::to_string(index) + "]";
    expect(c.tokens.size() <= line.tokens.size(), who + " said more than it should");
    for (std::size_t i = 0; i < c.tokens.size(); ++i)
      expect(same(c.tokens[i], line.tokens[i]), who + " differs at token " + std::to_string(i));
    const bool natural =
        c.finish == line.finish && c.stop_token == line.stop_token && c.tokens.size() == line.tokens.size();
    if (c.finish == FinishReason::error) {
      expect(!engine_->stats().alive || a.request.sampling.debug_poison_nan, who + " failed without a cause");
    } else if (c.finish == FinishReason::abort) {
      expect(a.aborted, who + " was aborted by nobody");
    } else if (c.finish == FinishReason::none) {
      expect(c.stopped, who + " never ended");
    } else {
      expect(natural, who + " ended early or wrongly");
    }
    if (natural && !c.stopped && !a.request.sampling.debug_poison_nan)
      expect(c.finish != FinishReason::none, who + " has no reason");
  }

  void check_end() {
    std::int64_t generation = 0, prompt = 0, itls = 0, ttfts = 0, preemptions = 0, rows = 0;
    bool any_cut = false;
    double previous_start = -1;
    for (const auto& a : asked_) {
      expect(a->num_done == 1, a->request.id + " never ended");
      bool cut = a->aborted || a->request.sampling.debug_poison_nan || throws_;
      std::size_t longest = 0;
      for (std::size_t i = 0; i < a->choices.size(); ++i) {
        check_choice(*a, i);
        const std::size_t n = a->choices[i].tokens.size();
        generation += static_cast<std::int64_t>(n);
        itls += n > 0 ? static_cast<std::int64_t>(n) - 1 : 0;
        longest = std::max(longest, n);
        if (a->request.sampling.debug_poison_nan && a->request.max_tokens > 0 && !a->aborted && !throws_)
          expect((a->choices[i].finish == FinishReason::error || a->choices[i].stopped) && n == 0,
                 a->request.id + " was poisoned and did not fail");
      }
      if (longest == 0)
        cut = cut || std::any_of(a->choices.begin(), a->choices.end(), [](auto& c) { return c.stopped; });
      ttfts += longest > 0 ? 1 : 0;
      any_cut = any_cut || cut;
      rows += static_cast<std::int64_t>(a->request.prompt.size());
      for (const Choice& c : a->choices)
        rows += std::max<std::int64_t>(0, static_cast<std::int64_t>(c.tokens.size()) - 1);
      preemptions += a->num_preemptions;
      prompt += static_cast<std::int64_t>(a->request.prompt.size());
      if (a->request.sampling.prompt_logprobs >= 0 && !cut && !a->choices[0].stopped) {
        const std::vector<TokenOutput> expected = straight_line_prompt(a->request, info_);
        expect(a->num_prompt_calls == 1 && a->prompt_rows.size() == expected.size(),
               a->request.id + ": prompt logprobs are missing");
        for (std::size_t i = 0; i < expected.size(); ++i)
          expect(same(a->prompt_rows[i], expected[i]),
                 a->request.id + ": prompt logprobs differ at " + std::to_string(i));
      }
      exact_prompt_ = exact_prompt_ && !cut;
      if (config_.policy == SchedulingPolicy::fcfs && !cut && !any_prompt_logprobs_) {
        expect(a->times.first_scheduled >= previous_start, a->request.id + " overtook an earlier request");
        previous_start = a->times.first_scheduled;
      }
    }
    const EngineStats s = engine_->stats();
    expect(s.num_running == 0 && s.num_waiting == 0, "something is still there");
    expect(s.num_free_blocks == s.num_blocks && s.num_free_state_slots == s.num_state_slots,
           "blocks or slots were lost");
    expect(totals_.done == static_cast<std::int64_t>(asked_.size()), "on_request_done was not called once a request");
    expect(totals_.generation == generation && static_cast<std::int64_t>(s.num_generation_tokens) == generation,
           "generation tokens do not add up");
    expect(totals_.done_generation == generation, "generation tokens of requests do not add up");
    expect(totals_.ttfts == ttfts && totals_.itls == itls, "latencies do not add up");
    if (!throws_)
      expect(totals_.preemptions == preemptions && totals_.done_preemptions == preemptions,
             "preemptions do not add up");
    expect(!exact_prompt_ || totals_.prompt == prompt, "prompt tokens do not add up");
    // A token of output is a row, but the first of each choice, which comes from the last row of the prompt.
    if (roomy_) expect(totals_.preemptions == 0, "preempted with room for all");
    if (roomy_ && !any_cut)
      expect(totals_.tokens == rows, "rows computed: " + std::to_string(totals_.tokens) + ", expected " +
                                         std::to_string(rows) + ": a prompt was not computed once");
    // Every step moves the best-ranked sequence by a token. Under fcfs it stays the best and keeps what it has; under the priority
    // policy a newcomer may throw its progress away, once a newcomer.
    const auto factor =
        config_.policy == SchedulingPolicy::fcfs ? std::int64_t{1} : static_cast<std::int64_t>(asked_.size()) + 1;
    expect(work_steps_ <= steps_allowed_ * factor,
           "more steps (" + std::to_string(work_steps_) + ") than its tokens allow (" +
               std::to_string(steps_allowed_ * factor) + "): something starved or spun");
  }

  Rng rng_;
  EngineConfig config_;
  RunnerInfo info_;
  FakeClock clock_;
  Totals totals_;
  std::vector<Request> plans_;
  std::vector<std::shared_ptr<Asked>> asked_;
  std::unique_ptr<Engine> engine_;
  std::int64_t num_steps_ = 0, work_steps_ = 0, steps_allowed_ = 0;
  std::int64_t num_copies_ = 0;
  bool last_step_ = false, throws_ = false, roomy_ = false, any_prompt_logprobs_ = false, exact_prompt_ = true;
};

}  // namespace

SimResult run_simulation(std::uint64_t seed) {
  try {
    return Simulation(seed).run();
  } catch (const SimFailure& e) {
    SimResult result;
    result.failure = e.what;
    return result;
  }
}

}  // namespace hearth
