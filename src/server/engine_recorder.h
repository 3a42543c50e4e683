// engine_recorder.h — what the engine tells, written into a model's series; and the gauges, read from its stats when asked.
//
// Threads   EngineMetrics' calls on the engine thread, refresh() on any.
#pragma once

#include <memory>

#include "engine/engine.h"
#include "engine/engine_metrics.h"
#include "obs/metrics.h"

namespace hearth {

class EngineRecorder final : public EngineMetrics {
 public:
  explicit EngineRecorder(std::unique_ptr<ModelSeries> series) : series_(std::move(series)) {}
  void on_step(const StepStats& stats) override;
  void on_request_done(const RequestStats& stats) override;
  void refresh(const EngineStats& stats);

 private:
  std::unique_ptr<ModelSeries> series_;
};

}  // namespace hearth
