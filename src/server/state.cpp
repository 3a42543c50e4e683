#include "server/state.h"

#include <fmt/format.h>

#include <algorithm>

namespace hearth {

std::size_t longest_token(const Tokenizer& tokenizer) {
  std::size_t longest = 0;
  for (std::int32_t id = 0; id < tokenizer.vocab_size(); ++id) longest = std::max(longest, tokenizer.bytes(id).size());
  return longest;
}

Result<std::shared_ptr<ServedModel>> ServerState::find_model(const std::string& name) const {
  if (service->models.empty()) return Status{Code::unavailable, "no model is loaded", {}};
  if (name.empty()) return service->models.front();
  for (const auto& model : service->models)
    if (std::find(model->names.begin(), model->names.end(), name) != model->names.end()) return model;
  return Status{Code::not_found, fmt::format("The model `{}` does not exist.", name), "model"};
}

std::shared_ptr<EngineRecorder> make_recorder(Service& service, const std::string& model_name, int max_model_len,
                                              const std::map<std::string, std::string>& cache_config) {
  return std::make_shared<EngineRecorder>(service.metrics->add_model(model_name, max_model_len, cache_config));
}

std::string make_fingerprint(const ServerConfig& config) {
  // FNV-1a over what shapes the answers: stable over restarts, different between versions.
  std::uint32_t hash = 2166136261u;
  for (const char c : config.engine_version + "|" + config.compat_version)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  if (config.fingerprint_mode == "none") return {};
  if (config.fingerprint_mode == "hash") return fmt::format("{:08x}", hash);
  if (config.fingerprint_mode == "custom") return config.fingerprint_value;
  return fmt::format("hearth-{}-{:08x}", config.engine_version, hash);
}

}  // namespace hearth
