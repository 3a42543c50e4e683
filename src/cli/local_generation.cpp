#include "cli/local_generation.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>

#include "text/detokenizer.h"
#include "text/stop_strings.h"

namespace hearth {
namespace {

class Queue final : public OutputSink {
 public:
  void on_output(ChoiceOutput output) override {
    {
      std::lock_guard lock(mutex_);
      outputs_.push_back(std::move(output));
    }
    ready_.notify_one();
  }
  void on_done(const RequestTimes& times, int, int) override {
    {
      std::lock_guard lock(mutex_);
      done_ = true;
      times_ = times;
    }
    ready_.notify_one();
  }
  // False when nothing more will come; an empty out after a while without news.
  bool wait(ChoiceOutput& out, bool& got) {
    std::unique_lock lock(mutex_);
    ready_.wait_for(lock, std::chrono::milliseconds(50), [this] { return done_ || !outputs_.empty(); });
    got = !outputs_.empty();
    if (got) {
      out = std::move(outputs_.front());
      outputs_.pop_front();
    }
    return got || !done_;
  }
  // When nothing more will come.
  RequestTimes times() {
    std::lock_guard lock(mutex_);
    return times_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<ChoiceOutput> outputs_;
  bool done_ = false;
  RequestTimes times_;
};

struct NumberParameter {
  std::string_view name;
  double min, max;
  bool whole;
};
constexpr NumberParameter kNumbers[] = {
    {"temperature", 0, 100, false},
    {"top_p", 1e-6, 1, false},
    {"top_k", -1, 1e9, true},
    {"min_p", 0, 1, false},
    {"repetition_penalty", 1e-6, 100, false},
    {"presence_penalty", -2, 2, false},
    {"frequency_penalty", -2, 2, false},
    {"seed", -9.2e18, 9.2e18, true},
    {"num_predict", 1, 2147483647, true},
    {"max_tokens", 1, 2147483647, true},
};

SamplingParams sampling_from(const Json& p) {
  SamplingParams s;
  auto number = [&](const char* name, double otherwise) {
    return p.contains(name) && p[name].is_number() ? p[name].get<double>() : otherwise;
  };
  s.temperature = static_cast<float>(number("temperature", 1));
  s.top_p = static_cast<float>(number("top_p", 1));
  s.top_k = static_cast<int>(std::clamp(number("top_k", 0), 0.0, 1e9));
  s.min_p = static_cast<float>(number("min_p", 0));
  s.repetition_penalty = static_cast<float>(number("repetition_penalty", 1));
  s.presence_penalty = static_cast<float>(number("presence_penalty", 0));
  s.frequency_penalty = static_cast<float>(number("frequency_penalty", 0));
  if (p.contains("seed") && p["seed"].is_number_integer()) s.seed = p["seed"].get<std::int64_t>();
  return s;
}

}  // namespace

Result<Json> parse_parameter(std::string_view name, const std::string& text) {
  if (name == "stop") return Json(text);
  for (const NumberParameter& n : kNumbers) {
    if (n.name != name) continue;
    const Result<Json> parsed = parse_json(text);
    if (!parsed || !parsed->is_number() || (n.whole && !parsed->is_number_integer()) || parsed->get<double>() < n.min ||
        parsed->get<double>() > n.max)
      return invalid_argument(
          fmt::format("{} expects a {}number from {:g} to {:g}", name, n.whole ? "whole " : "", n.min, n.max));
    return *parsed;
  }
  std::string known = "stop";
  for (const NumberParameter& n : kNumbers) known += fmt::format(", {}", n.name);
  return invalid_argument(fmt::format("there is no parameter '{}'; known: {}", name, known));
}

Generated generate(Engine& engine, const Tokenizer& tokenizer, std::vector<std::int32_t> prompt,
                   const std::vector<std::int32_t>& eos_token_ids, const Json& parameters,
                   const std::function<void(std::string_view)>& on_text, const std::atomic<bool>& interrupted) {
  static std::atomic<int> serial{0};
  Generated out;
  out.num_prompt_tokens = static_cast<int>(prompt.size());
  const int room = engine.config().max_model_len - out.num_prompt_tokens;
  if (room < 1) {
    out.finish = FinishReason::error;
    out.error = invalid_argument(fmt::format("the conversation has {} tokens, and the context {}: /clear starts anew",
                                             out.num_prompt_tokens, engine.config().max_model_len));
    return out;
  }
  auto queue = std::make_shared<Queue>();
  Request request;
  request.id = fmt::format("local-{}", ++serial);
  request.prompt = std::move(prompt);
  request.sampling = sampling_from(parameters);
  request.sampling.eos_token_ids = eos_token_ids;
  request.max_tokens = room;
  for (const char* key : {"max_new_tokens", "num_predict", "max_tokens"})
    if (parameters.contains(key) && parameters[key].is_number_integer())
      request.max_tokens = std::min<std::int64_t>(room, std::max<std::int64_t>(1, parameters[key].get<std::int64_t>()));
  request.sink = queue;
  std::vector<std::string> stops;
  if (parameters.contains("stop")) {
    if (parameters["stop"].is_string())
      stops.push_back(parameters["stop"].get<std::string>());
    else
      for (const Json& s : parameters["stop"])
        if (s.is_string()) stops.push_back(s.get<std::string>());
  }
  StopStrings stop(stops, false);
  Detokenizer detokenizer(tokenizer, true);
  const std::string id = request.id;
  out.error = engine.submit(std::move(request));
  if (!out.error.ok()) {
    out.finish = FinishReason::error;
    return out;
  }
  bool ended = false, aborted = false, got = false;
  ChoiceOutput piece;
  while (queue->wait(piece, got)) {
    if (interrupted.load(std::memory_order_relaxed) && !aborted) {
      engine.abort(id);
      aborted = true;
    }
    if (!got || ended) continue;
    for (const TokenOutput& token : piece.tokens) {
      ++out.num_tokens;
      if (std::find(eos_token_ids.begin(), eos_token_ids.end(), token.token) != eos_token_ids.end()) continue;
      const std::string text = stop.push(detokenizer.push(token.token));
      if (!text.empty()) on_text(text);
      if (stop.matched()) {
        engine.stop_choice(id, 0);
        out.finish = FinishReason::stop;
        ended = true;
        break;
      }
    }
    if (!ended && piece.finish != FinishReason::none) {
      out.finish = piece.finish;
      out.error = piece.error;
      ended = true;
      const std::string text = stop.push(detokenizer.finish()) + stop.finish();
      if (!text.empty()) on_text(text);
    }
  }
  if (out.num_tokens > 0) {
    const RequestTimes times = queue->times();
    out.prompt_seconds = times.first_token - times.first_scheduled;
    out.answer_seconds = times.last_token - times.first_token;
  }
  return out;
}

}  // namespace hearth
