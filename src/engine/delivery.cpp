// What a step gave, to the sinks: tokens, prompt logprobs, finish reasons.
#include <algorithm>

#include "base/check.h"
#include "engine/engine_impl.h"

namespace hearth {
namespace {

bool contains(const std::vector<std::int32_t>& ids, std::int32_t id) {
  return std::find(ids.begin(), ids.end(), id) != ids.end();
}

}  // namespace

void Engine::Impl::deliver_token(Sequence& sequence, TokenOutput token, double now) {
  RequestState& state = *sequence.owner;
  const Request& request = state.request;
  const SamplingParams& p = request.sampling;
  const std::int32_t id = token.token;
  sequence.tokens.push_back(id);
  ++state.choice_stats[static_cast<std::size_t>(sequence.index)].num_generation_tokens;
  ++step_stats.num_generation_tokens;
  if (!state.had_token) {
    state.had_token = true;
    state.times.first_token = now;
    ttfts.push_back(now - state.times.arrival);
  }
  if (sequence.last_token_seconds >= 0) itls.push_back(now - sequence.last_token_seconds);
  sequence.last_token_seconds = state.times.last_token = now;

  ChoiceOutput out;
  out.index = sequence.index;
  const bool stops = (!p.ignore_eos && contains(p.eos_token_ids, id)) || contains(p.stop_token_ids, id);
  if (stops && sequence.num_output() >= p.min_tokens) {
    out.finish = FinishReason::stop;
    out.stop_token = id;
  } else if (sequence.num_output() >= request.max_tokens || sequence.num_tokens() >= config.max_model_len) {
    out.finish = FinishReason::length;
  }
  out.tokens.push_back(std::move(token));
  const FinishReason finish = out.finish;
  request.sink->on_output(std::move(out));
  if (finish != FinishReason::none) end_choice(sequence, finish);
}

void Engine::Impl::deliver_prompt_rows(RequestState& state) {
  if (!state.wants_prompt_rows() || state.next_prompt_row + 1 < state.num_prompt()) return;
  state.prompt_rows_delivered = true;
  state.request.sink->on_prompt_logprobs(std::move(state.prompt_rows));
}

void Engine::Impl::deliver(const std::vector<Scheduled>& scheduled, std::vector<SampledRow>& rows, double now) {
  for (const Scheduled& s : scheduled) {
    scheduler.advance(s);
    RequestState& state = *s.sequence->owner;
    const std::int32_t done = std::min(s.sequence->num_computed, state.num_prompt());
    step_stats.num_prompt_tokens += std::max(0, done - state.num_prompt_told);
    state.num_prompt_told = std::max(state.num_prompt_told, done);
  }
  // Rows are in batch order: a sequence's prompt rows come before the token sampled after its prompt.
  HEARTH_CHECK_EQ(rows.size(), batch.samples.size());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    Sequence& sequence = *sample_owners[i];
    if (sequence.state == SequenceState::ended) continue;  // an earlier row failed its request
    RequestState& state = *sequence.owner;
    if (!rows[i].error.ok()) {
      end_request(state, FinishReason::error, rows[i].error);
    } else if (!batch.samples[i].sample) {
      state.prompt_rows.push_back(std::move(rows[i].token));
      ++state.next_prompt_row;
    } else {
      if (sequence.index == 0) deliver_prompt_rows(state);
      deliver_token(sequence, std::move(rows[i].token), now);
    }
  }
  // max_tokens 0: the prompt was all there was to do, for every choice that shares it.
  for (const Scheduled& s : scheduled) {
    RequestState& state = *s.sequence->owner;
    if (state.request.max_tokens > 0 || s.sequence->num_to_run() > 0) continue;
    for (const auto& choice : state.choices) {
      if (choice->state != SequenceState::running || choice->leader != nullptr || choice->num_to_run() > 0) continue;
      if (choice->index == 0) deliver_prompt_rows(state);
      ChoiceOutput out;
      out.index = choice->index;
      out.finish = FinishReason::length;
      state.request.sink->on_output(std::move(out));
      end_choice(*choice, FinishReason::length);
    }
  }
}

}  // namespace hearth
