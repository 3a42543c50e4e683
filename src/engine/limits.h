// limits.h — what an engine can be made of, and what it can be asked.
#pragma once

#include "engine/engine.h"

namespace hearth {

// StartupError when the limits contradict each other; the runner's must hold them (HEARTH_CHECK).
void check_config(const EngineConfig& config, const RunnerInfo& runner);

// Not ok: this request could never run here, however idle the engine.
Status check_request(const Request& request, const EngineConfig& config, const RunnerInfo& runner);

}  // namespace hearth
