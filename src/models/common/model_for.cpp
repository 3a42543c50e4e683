#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/status.h"
#include "checkpoint/hf_config.h"
#include "models/model_def.h"

namespace hearth {

const ModelDef& model_for(const Json& config) {
  const std::string type = get_string(config, "model_type", "");
  std::vector<std::string_view> known;
  for (const ModelDef* def : all_models())
    for (const std::string_view t : def->model_types) {
      if (t == type) return *def;
      known.push_back(t);
    }
  throw StartupError(type.empty() ? std::string("the configuration has no model_type")
                                  : fmt::format("model_type {} is not known", type),
                     "config.json: model_type", fmt::format("known: {}", fmt::join(known, ", ")));
}

}  // namespace hearth
