// load_model.h — from MODEL to a running engine. The one place that names backends.
//
//   open_model   path, configuration, architecture; every name and shape checked; nothing read yet
//   plan_model   what it will take, against what the machine has; refuses before anything is loaded
//   load_engine  reads the weights, reserves the caches, makes the engine (not started)
//
// Errors    StartupError.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "checkpoint/weight_source.h"
#include "cli/load_options.h"
#include "cli/memory_budget.h"
#include "compute/ops.h"
#include "engine/engine.h"
#include "models/model_def.h"

namespace hearth {

class Progress;

// --device and --threads.
std::unique_ptr<Ops> make_ops(const LoadOptions& options);

struct OpenedModel {
  std::string path;                      // a folder or a .gguf file
  std::unique_ptr<WeightSource> source;  // with --hf-config-path and --hf-overrides applied
  const ModelDef* def = nullptr;
  ModelInfo info;
  DType kv_dtype = DType::f32;
  bool is_gguf = false;

  struct Stored {
    int tensors = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::string, Stored> stored;  // by format
  std::int64_t stored_bytes() const;
  std::int64_t used_bytes = 0;  // of them, as plan_model found: what load_engine will read
};
OpenedModel open_model(const LoadOptions& options);

// text_bytes: what the vocabulary takes (ModelText).
StartPlan plan_model(OpenedModel& model, Ops& ops, const LoadOptions& options, const MachineMemory& machine,
                     std::int64_t text_bytes);

// The engine, and what must live as long: its backend and clock.
std::shared_ptr<Engine> load_engine(OpenedModel& model, std::shared_ptr<Ops> ops, const StartPlan& plan,
                                    const LoadOptions& options, Progress& progress, EngineMetrics* metrics = nullptr);

}  // namespace hearth
