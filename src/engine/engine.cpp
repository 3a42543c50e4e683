#include "engine/engine.h"

#include "base/check.h"
#include "engine/engine_impl.h"
#include "engine/limits.h"

namespace hearth {

Engine::Impl::Impl(EngineConfig c, std::unique_ptr<Runner> r, const Clock& k, EngineMetrics* m)
    : config(c), runner(std::move(r)), info(runner->info()), clock(k), metrics(m), scheduler(config, info) {
  check_config(config, info);
  reserve_batch(batch, config, info);
  stats.num_blocks = stats.num_free_blocks = info.num_blocks;
  stats.num_state_slots = stats.num_free_state_slots = info.num_state_slots;
}

void Engine::Impl::post(Message message) {
  std::lock_guard lock(mutex);
  if (!live_ids.contains(message.id)) return;
  inbox.push_back(std::move(message));
  wake.notify_one();
}

Engine::Engine(EngineConfig config, std::unique_ptr<Runner> runner, const Clock& clock, EngineMetrics* metrics)
    : impl_(std::make_unique<Impl>(config, std::move(runner), clock, metrics)) {}

Engine::~Engine() { stop(); }

void Engine::start() {
  HEARTH_CHECK(!impl_->thread.joinable());
  impl_->thread = std::thread([this] { impl_->loop(); });
}

void Engine::stop(double drain_seconds) {
  Impl& e = *impl_;
  {
    std::lock_guard lock(e.mutex);
    e.stopping = true;
    e.drain_until = e.clock.now_seconds() + drain_seconds;
  }
  e.wake.notify_all();
  if (e.thread.joinable()) {
    e.thread.join();
  } else {
    while (e.clock.now_seconds() < e.drain_until && e.step()) {
    }
  }
  e.take_messages();
  e.end_all(FinishReason::abort, {});
  e.scheduler.check_integrity();
  e.ended.clear();
  e.publish();
}

Status Engine::submit(Request request) {
  Impl& e = *impl_;
  HEARTH_CHECK(request.sink != nullptr);
  if (Status wrong = check_request(request, e.config, e.info); !wrong.ok()) return wrong;
  std::lock_guard lock(e.mutex);
  if (!e.stats.alive) return {Code::unavailable, "the engine has failed", {}};
  if (e.stopping) return {Code::unavailable, "the server is shutting down", {}};
  const std::int64_t waiting = std::int64_t{e.stats.num_waiting} + e.inbox_choices;
  if (waiting + request.n > e.config.max_queue)
    return {Code::resource_exhausted,
            "the queue is full: " + std::to_string(waiting) + " of at most " + std::to_string(e.config.max_queue) +
                " are waiting",
            {}};
  if (!e.live_ids.insert(request.id).second)
    return invalid_argument("a request with the id \"" + request.id + "\" is running", "request_id");
  Message m;
  m.kind = Message::submit;
  m.arrival = e.clock.now_seconds();
  e.inbox_choices += request.n;
  m.request = std::move(request);
  e.inbox.push_back(std::move(m));
  e.wake.notify_one();
  return {};
}

void Engine::abort(const std::string& request_id) { impl_->post({Message::abort, {}, 0, request_id, 0}); }

void Engine::stop_choice(const std::string& request_id, int index) {
  impl_->post({Message::stop_choice, {}, 0, request_id, index});
}

EngineStats Engine::stats() const {
  std::lock_guard lock(impl_->mutex);
  EngineStats s = impl_->stats;
  s.num_waiting += impl_->inbox_choices;
  return s;
}

const EngineConfig& Engine::config() const { return impl_->config; }
const RunnerInfo& Engine::runner_info() const { return impl_->info; }
bool Engine::step() { return impl_->step(); }

}  // namespace hearth
