#include "cli/engine_bench.h"

#include <algorithm>
#include <memory>

#include "base/clock.h"
#include "base/rng.h"

namespace hearth {
namespace {

struct Counts {
  int first_tokens = 0;  // requests that have theirs
  int done = 0;
  std::string error;
};

class CountingSink final : public OutputSink {
 public:
  explicit CountingSink(Counts& counts) : counts_(counts) {}
  void on_output(ChoiceOutput output) override {
    if (!output.tokens.empty() && !began_) {
      began_ = true;
      ++counts_.first_tokens;
    }
    if (output.finish == FinishReason::error) counts_.error = output.error.message;
  }
  void on_done(const RequestTimes&, int, int) override { ++counts_.done; }

 private:
  Counts& counts_;
  bool began_ = false;
};

// Seconds of the timed part, and its steps.
std::pair<double, std::uint64_t> one_run(Engine& engine, const BenchCase& c, int vocab_size, std::uint64_t seed,
                                         std::string& error) {
  const SteadyClock clock;
  Counts counts;
  Rng rng(seed);
  for (int b = 0; b < c.batch; ++b) {
    Request r;
    r.id = "bench-" + std::to_string(seed) + "-" + std::to_string(b);
    const int length = c.prompt ? c.tokens : std::max(1, c.context);
    for (int i = 0; i < length; ++i)
      r.prompt.push_back(static_cast<std::int32_t>(rng.below(static_cast<std::uint64_t>(vocab_size))));
    r.sampling.temperature = 0;
    r.sampling.ignore_eos = true;
    r.max_tokens = c.prompt ? 1 : c.tokens;
    r.sink = std::make_shared<CountingSink>(counts);
    if (Status s = engine.submit(std::move(r)); !s.ok()) {
      error = s.message;
      return {0, 0};
    }
  }
  double begin = clock.now_seconds();
  std::uint64_t first_step = engine.stats().num_steps;
  bool timing = c.prompt;
  while (counts.done < c.batch) {
    engine.step();
    if (!timing && counts.first_tokens == c.batch) {
      timing = true;
      begin = clock.now_seconds();
      first_step = engine.stats().num_steps;
    }
  }
  error = counts.error;
  return {clock.now_seconds() - begin, engine.stats().num_steps - first_step};
}

}  // namespace

BenchTimes run_bench_case(Engine& engine, const BenchCase& c, int vocab_size, int repeats, std::uint64_t seed) {
  BenchTimes out;
  const double tokens = static_cast<double>(c.batch) * (c.prompt ? c.tokens : c.tokens - 1);
  for (int i = 0; i <= repeats; ++i) {
    const auto [seconds, steps] = one_run(engine, c, vocab_size, seed + static_cast<std::uint64_t>(i), out.error);
    if (!out.error.empty()) return out;
    if (i == 0) continue;  // warms caches and threads
    out.seconds.push_back(seconds);
    out.tokens_a_second.push_back(tokens / std::max(seconds, 1e-9));
    out.steps = steps;
  }
  return out;
}

Spread spread_of(std::vector<double> values) {
  if (values.empty()) return {};
  std::sort(values.begin(), values.end());
  const std::size_t n = values.size();
  return {n % 2 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2, values.front(), values.back()};
}

}  // namespace hearth
