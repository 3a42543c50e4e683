#include "checkpoint/hf_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <unordered_map>

#include "base/check.h"
#include "base/file_reader.h"
#include "base/status.h"
#include "checkpoint/fp8_scales.h"
#include "checkpoint/json_file.h"
#include "checkpoint/safetensors.h"
#include "checkpoint/stacked_experts.h"

namespace hearth {
namespace {

namespace fs = std::filesystem;
constexpr const char* kIndexName = "model.safetensors.index.json";

// name → file name, as the index says.
std::map<std::string, std::string> read_index(const std::string& path) {
  const Json index = read_json_file(path);
  const auto it = index.find("weight_map");
  if (it == index.end() || !it->is_object()) {
    throw StartupError("expected \"weight_map\", an object of tensor names and file names, found none", path,
                       "fetch the index again");
  }
  std::map<std::string, std::string> map;
  for (const auto& [tensor, file] : it->items()) {
    const std::string name = file.is_string() ? file.get<std::string>() : "";
    if (name.empty() || name.find('/') != std::string::npos || name == "." || name == "..") {
      throw StartupError(fmt::format("expected the name of a file in the same folder, found {}", dump_json(file)),
                         path + ": " + tensor, "fetch the index again");
    }
    map.emplace(tensor, name);
  }
  if (map.empty()) throw StartupError("expected tensors in \"weight_map\", found none", path, "fetch the index again");
  return map;
}

class HfFolder final : public WeightSource {
 public:
  explicit HfFolder(const std::string& folder) : folder_(folder) {
    const std::string config_path = in("config.json");
    if (!file_present(config_path)) {
      throw StartupError("expected a config.json in the folder, found none", config_path,
                         "give the folder of a Hugging Face checkpoint, or a .gguf file");
    }
    config_ = read_json_file(config_path);
    check_quantization_config(config_, config_path);
    if (file_present(in("generation_config.json"))) generation_config_ = read_json_file(in("generation_config.json"));
    open_files();
    for (std::size_t i = 0; i < tensors_.size(); ++i) by_name_.emplace(tensors_[i].name, i);
    check_fp8_scales(*this);
  }

  const std::vector<SourceTensor>& tensors() const override { return tensors_; }

  const SourceTensor* find(std::string_view name) const override {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : &tensors_[it->second];
  }

  void read_range(const SourceTensor& tensor, std::int64_t offset, std::span<std::byte> dst) override {
    HEARTH_CHECK(0 <= offset && offset + static_cast<std::int64_t>(dst.size()) <= tensor.bytes);
    const Location& at = location(tensor);
    files_[at.file].read(*at.entry, dst, at.offset + static_cast<std::uint64_t>(offset));
  }

  const Json& config() const override { return config_; }
  const Json& generation_config() const override { return generation_config_; }
  std::string where(const SourceTensor& tensor) const override { return files_[location(tensor).file].path(); }

 private:
  struct Location {
    std::size_t file = 0;
    const SafetensorsEntry* entry = nullptr;
    std::uint64_t offset = 0;  // bytes into the entry
  };

  std::string in(const std::string& name) const { return (fs::path(folder_) / name).string(); }

  const Location& location(const SourceTensor& tensor) const {
    const auto it = by_name_.find(tensor.name);
    HEARTH_CHECK(it != by_name_.end());
    return locations_[it->second];
  }

  void open_files() {
    if (file_present(in("model.safetensors"))) {
      files_.emplace_back(in("model.safetensors"));
    } else if (file_present(in(kIndexName))) {
      open_shards();
    } else {
      std::vector<std::string> found;
      std::error_code error;
      for (const fs::directory_entry& e : fs::directory_iterator(folder_, error)) {
        if (e.path().extension() == ".safetensors") found.push_back(e.path().string());
      }
      if (error) throw StartupError("cannot read the folder: " + error.message(), folder_, "check its permissions");
      if (found.size() != 1) {
        throw StartupError(
            fmt::format("expected model.safetensors or {}, found {} .safetensors files", kIndexName, found.size()),
            folder_,
            found.empty() ? "weights in other forms (.bin, .pt) are not read: convert them to safetensors"
                          : "fetch the index file");
      }
      files_.emplace_back(found.front());
    }
    for (std::size_t f = 0; f < files_.size(); ++f) {
      for (const SafetensorsEntry& e : files_[f].tensors()) add(f, e);
    }
  }

  void open_shards() {
    const std::string index_path = in(kIndexName);
    const std::map<std::string, std::string> index = read_index(index_path);
    std::set<std::string> names;
    for (const auto& [tensor, file] : index) names.insert(file);
    std::vector<std::string> missing;
    for (const std::string& name : names) {
      if (!file_present(in(name))) missing.push_back(name);
    }
    if (!missing.empty()) {
      throw StartupError(fmt::format("the index names {} files: {} of them not found, the first is {}", names.size(),
                                     missing.size(), missing.front()),
                         index_path, "the download is incomplete: fetch the missing files");
    }
    std::map<std::string, std::size_t> number;
    for (const std::string& name : names) {
      number[name] = files_.size();
      files_.emplace_back(in(name));
    }
    for (const auto& [tensor, file] : index) {
      const SafetensorsFile& shard = files_[number[file]];
      if (shard.find(tensor) == nullptr) {
        throw StartupError(fmt::format("the index expects the tensor in {}, but it was not found there", file),
                           shard.path() + ": " + tensor,
                           "the shard and the index do not belong together: fetch both again");
      }
    }
    for (const SafetensorsFile& shard : files_) {
      for (const SafetensorsEntry& e : shard.tensors()) {
        const auto it = index.find(e.name);
        if (it == index.end() || number[it->second] != static_cast<std::size_t>(&shard - files_.data())) {
          throw StartupError(it == index.end() ? "found a tensor that the index does not name"
                                               : fmt::format("found a tensor that the index expects in {}", it->second),
                             shard.path() + ": " + e.name,
                             "the shard and the index do not belong together: fetch both again");
        }
      }
    }
  }

  void add(std::size_t file, const SafetensorsEntry& e) {
    SourceTensor t{e.name, e.format, e.shape, static_cast<std::int64_t>(e.bytes)};
    const std::vector<ExpertSlice> slices = expert_slices(t, files_[file].path());
    if (slices.empty()) {
      tensors_.push_back(std::move(t));
      locations_.push_back({file, &e, 0});
    }
    for (const ExpertSlice& s : slices) {
      tensors_.push_back(s.tensor);
      locations_.push_back({file, &e, static_cast<std::uint64_t>(s.offset)});
    }
  }

  std::string folder_;
  Json config_;
  Json generation_config_ = Json::object();
  std::vector<SafetensorsFile> files_;
  std::vector<SourceTensor> tensors_;
  std::vector<Location> locations_;  // parallel to tensors_
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace

std::unique_ptr<WeightSource> open_hf_folder(const std::string& folder) { return std::make_unique<HfFolder>(folder); }

}  // namespace hearth
