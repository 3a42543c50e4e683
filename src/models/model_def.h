// model_def.h — what an architecture file offers: which configurations it takes, and a model made from one.
//
// Owns      a Model owns its weights (through Matrix and Buffer); caches and activations are given to forward().
// Threads   one forward at a time.
// Errors    make() and bind() throw StartupError: unknown or inconsistent configuration, missing or mis-shaped tensors.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "nn/ctx.h"
#include "nn/step_input.h"

namespace hearth {

class Binder;

// Cache geometry, all a planner needs to know.
struct CacheSpec {
  int num_kv_layers = 0;
  std::int64_t num_kv_heads = 0;                             // G
  std::int64_t head_dim = 0;                                 // K
  int num_state_layers = 0;                                  // linear-attention layers
  std::int64_t conv_channels = 0;                            // C; state [3, C] f32 a layer and slot
  std::int64_t state_heads = 0, state_dk = 0, state_dv = 0;  // [Hv, Dk, Dv] f32 a layer and slot

  std::int64_t kv_elems_per_token() const { return 2 * num_kv_layers * num_kv_heads * head_dim; }
  std::int64_t state_bytes_per_slot() const {
    return num_state_layers * 4 * (3 * conv_channels + state_heads * state_dk * state_dv);
  }
};

struct ModelInfo {
  std::string architecture;     // "qwen3_5_moe"
  std::int64_t vocab_size = 0;  // rows of the logits
  std::int64_t hidden_size = 0;
  int num_layers = 0;
  std::int64_t max_position_embeddings = 0;
  CacheSpec cache;
};

class Model {
 public:
  virtual ~Model() = default;
  virtual const ModelInfo& info() const = 0;
  // Takes every tensor it needs from the checkpoint; the binder then refuses what is left over.
  virtual void bind(Binder& binder) = 0;
  // Logits [L, V] f32 of in.logit_rows (L may be 0: then an empty tensor).
  virtual Tensor forward(Ctx& c, const StepInput& in, StepCaches& caches) = 0;
};

struct ModelDef {
  std::string_view name;                               // the file's stem
  std::vector<std::string_view> model_types;           // config.json "model_type" values it takes
  std::unique_ptr<Model> (*make)(const Json& config);  // throws StartupError
};

std::span<const ModelDef* const> all_models();
// The definition for config["model_type"]; StartupError listing the known ones when there is none.
const ModelDef& model_for(const Json& config);

}  // namespace hearth
