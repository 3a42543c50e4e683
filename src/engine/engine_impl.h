// engine_impl.h — what stands behind Engine. Bodies by concept: engine.cpp (what other threads call), engine_loop.cpp (messages in,
// one step, statistics out), delivery.cpp (what a step gave goes to the sinks), ending.cpp (choices and requests end).
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>

#include "engine/batch.h"
#include "engine/engine.h"
#include "engine/engine_metrics.h"
#include "engine/scheduler.h"
#include "engine/sequence.h"

namespace hearth {

struct Message {
  enum Kind { submit, abort, stop_choice } kind = submit;
  Request request;
  double arrival = 0;
  std::string id;
  int index = 0;
};

struct Engine::Impl {
  Impl(EngineConfig c, std::unique_ptr<Runner> r, const Clock& k, EngineMetrics* m);

  // ---- shared with other threads, under mutex -----------------------------------------------------------------------------
  std::mutex mutex;
  std::condition_variable wake;
  std::vector<Message> inbox;
  int inbox_choices = 0;                     // choices submitted and not yet taken
  std::unordered_set<std::string> live_ids;  // accepted and not ended
  bool stopping = false;
  double drain_until = 0;
  EngineStats stats;  // as of the last step

  void post(Message message);  // an abort or a stop_choice, of a request that is live

  // ---- the engine thread's own -------------------------------------------------------------------------------------------
  const EngineConfig config;
  const std::unique_ptr<Runner> runner;
  const RunnerInfo info;
  const Clock& clock;
  EngineMetrics* const metrics;
  Scheduler scheduler;
  std::unordered_map<std::string, std::unique_ptr<RequestState>> requests;
  std::vector<std::unique_ptr<RequestState>> ended;  // kept until the end of the step: rows may still point at them
  std::uint64_t num_arrived = 0;
  bool failed = false;
  std::vector<Message> messages;
  StepBatch batch;
  std::vector<Sequence*> sample_owners;
  std::vector<double> ttfts, itls;
  StepStats step_stats;
  std::thread thread;

  // engine_loop.cpp
  void accept(Message& m);
  bool take_messages();
  bool step();
  void publish();  // what stats() says from now on; adds step_stats to the sums and empties it
  void loop();

  // delivery.cpp
  void deliver(const std::vector<Scheduled>& scheduled, std::vector<SampledRow>& rows, double now);
  void deliver_token(Sequence& sequence, TokenOutput token, double now);
  void deliver_prompt_rows(RequestState& state);

  // ending.cpp
  void end_choice(Sequence& sequence, FinishReason reason);  // whatever was to be said about it has been
  void end_request(RequestState& state, FinishReason reason, const Status& error);
  void finish_request(RequestState& state);
  void end_all(FinishReason reason, const Status& error);
  void fail(const char* what);  // the runner is lost: everyone is told, nothing is accepted any more
};

}  // namespace hearth
