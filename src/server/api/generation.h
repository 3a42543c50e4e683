// generation.h — a request under way: its prompts submitted to the engine, tokens turned into text, stop strings looked for.
//
//   engine thread ─on_output→ queue ─post→ the connection's strand: detokenise, stop strings, Answer
//
// Owns      one detokeniser and one stop-string search a choice.
// Threads   the engine's calls only put into the queue; everything else runs on the exchange's strand, in order.
// Limits    a client that leaves, or a stop string, ends the work in the engine within a step.
// Rule      tokens that the engine made after a stop string matched are dropped and not counted: what an answer holds does not
//           depend on how far the engine had got.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/request.h"
#include "server/api/generation_params.h"
#include "server/http/exchange.h"
#include "server/state.h"

namespace hearth {

// What a step gave one choice, as text. choice = prompt index × n + sample.
struct TextDelta {
  int choice = 0;
  std::string text;
  std::vector<TokenOutput> tokens;
  bool finished = false;
  FinishReason finish = FinishReason::none;
  Json stop_reason;  // null, the stop string or the stop token
};

struct GenerationTotals {
  int prompt_tokens = 0, completion_tokens = 0, cached_tokens = 0;
  RequestTimes times;  // of the last prompt to end
};

// How an answer is said: chat or completion, whole or streamed. All calls come on the exchange's strand.
class Answer {
 public:
  virtual ~Answer() = default;
  virtual void on_admitted() {}
  virtual void on_prompt_logprobs(int prompt, std::vector<TokenOutput> rows) { (void)prompt, (void)rows; }
  virtual void on_delta(TextDelta delta, const GenerationTotals& so_far) = 0;
  virtual void on_end(const GenerationTotals& totals) = 0;
  virtual void on_error(const Status& status) = 0;
};

struct GenerationInput {
  std::shared_ptr<ServedModel> model;
  std::string id;  // "chatcmpl-…"
  std::vector<std::vector<std::int32_t>> prompts;
  std::vector<int> max_tokens;  // one a prompt
  GenerationParams params;
};

void start_generation(ServerState& state, const ExchangePtr& exchange, GenerationInput input,
                      std::unique_ptr<Answer> answer);

}  // namespace hearth
