// sequence.h — one choice of a request while it lives in the engine, and what the choices of a request share.
//
//   tokens      [0 ………………… num_prompt) [num_prompt ………… num_tokens)
//                prompt                  generated
//   computed    [0 … num_computed)       their keys, values and state are in the cache; the rest is still to run
//
// Prompts     are computed once a group: one running choice leads, others that were let in meanwhile follow. A follower holds its
//             seat, its slot and its table (whole blocks of the prompt shared, the last partial one its own) and runs nothing.
//             The step that computes the last prompt token ends with copies of that block and of the state, samples a token
//             for each of the group from the one row of logits, and then nobody follows any more.
// Invariants  num_computed <= num_tokens; a decode has exactly one token to run; a preempted sequence has num_computed 0, no
//             block and no slot, and keeps its tokens; a leader has no output yet, nor has a follower, whose num_computed is 0.
// Threads     the engine thread only.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "cache/block_pool.h"
#include "engine/engine_metrics.h"
#include "engine/request.h"

namespace hearth {

struct Sequence;

struct RequestState {
  Request request;
  std::uint64_t arrival_number = 0;
  RequestTimes times;
  bool was_scheduled = false, had_token = false;   // times.first_scheduled, times.first_token are set
  std::vector<std::unique_ptr<Sequence>> choices;  // n of them
  std::vector<ChoiceStats> choice_stats;
  int num_live = 0;  // choices that have not ended
  int num_cached_tokens = 0;
  int num_preemptions = 0;
  std::int32_t num_prompt_told = 0;  // prompt tokens already told to the metrics
  // Prompt logprobs: row p says how likely prompt[p + 1] was. Choice 0 gathers them; the others wait for it.
  std::int32_t next_prompt_row = 0;
  std::vector<TokenOutput> prompt_rows;
  bool prompt_rows_delivered = false;

  std::int32_t num_prompt() const { return static_cast<std::int32_t>(request.prompt.size()); }
  bool wants_prompt_rows() const { return request.sampling.prompt_logprobs >= 0 && !prompt_rows_delivered; }
};

enum class SequenceState { waiting, running, ended };

struct Sequence {
  RequestState* owner = nullptr;
  int index = 0;  // choice
  SequenceState state = SequenceState::waiting;
  std::vector<std::int32_t> tokens;  // empty until first admitted, so that waiting choices cost nothing
  std::int32_t num_computed = 0;
  BlockTable table;
  std::int32_t state_slot = -1;
  Sequence* leader = nullptr;  // the choice that computes the prompt for this one, while it does
  std::uint64_t seed = 0;
  double last_token_seconds = -1;

  std::int32_t num_prompt() const { return owner->num_prompt(); }
  std::int32_t num_tokens() const { return tokens.empty() ? num_prompt() : static_cast<std::int32_t>(tokens.size()); }
  std::int32_t num_output() const { return num_tokens() - num_prompt(); }
  std::int32_t num_to_run() const { return num_tokens() - num_computed; }
  std::span<const std::int32_t> prompt() const { return {tokens.data(), static_cast<std::size_t>(num_prompt())}; }
  std::span<const std::int32_t> output() const {
    return std::span(tokens).subspan(static_cast<std::size_t>(num_prompt()));
  }
  // Gathers prompt logprobs in what it still computes.
  bool gathers_prompt_rows() const { return index == 0 && owner->wants_prompt_rows(); }
  // Must let choice 0 finish its prompt first, unless it follows it.
  bool held() const { return index > 0 && owner->wants_prompt_rows(); }
};

}  // namespace hearth
