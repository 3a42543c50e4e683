#include "checkpoint/gguf_source.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "base/check.h"
#include "base/status.h"
#include "checkpoint/gguf_arch.h"

namespace hearth {
namespace {

class GgufSource final : public WeightSource {
 public:
  explicit GgufSource(const std::string& path) : file_(path) {
    const GgufArch& arch = gguf_arch(file_);
    config_ = gguf_config(file_, arch);
    generation_config_ = gguf_generation_config(file_);
    places_ = place_gguf_tensors(file_, arch, config_);
    for (const GgufPlacement& p : places_) tensors_.push_back(p.tensor);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (!by_name_.emplace(tensors_[i].name, i).second) {
        throw StartupError("expected one tensor for " + tensors_[i].name + ", found two",
                           path + ": " + file_.tensors()[places_[i].stored].name,
                           "take another conversion of the model");
      }
    }
  }

  const std::vector<SourceTensor>& tensors() const override { return tensors_; }

  const SourceTensor* find(std::string_view name) const override {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : &tensors_[it->second];
  }

  void read_range(const SourceTensor& tensor, std::int64_t offset, std::span<std::byte> dst) override {
    HEARTH_CHECK(0 <= offset && offset + static_cast<std::int64_t>(dst.size()) <= tensor.bytes);
    const auto it = by_name_.find(tensor.name);
    HEARTH_CHECK(it != by_name_.end());
    const GgufPlacement& p = places_[it->second];
    const GgufTensor& stored = file_.tensors()[p.stored];
    switch (p.change) {
      case GgufChange::none:
        file_.read(stored, dst, static_cast<std::uint64_t>(p.offset + offset));
        break;
      case GgufChange::unpermute:
        read_unpermuted(stored, p.heads, static_cast<std::size_t>(offset), dst);
        break;
      case GgufChange::minus_one:
      case GgufChange::log_negative:
        HEARTH_CHECK_EQ(static_cast<std::int64_t>(dst.size()), tensor.bytes);
        read_changed(stored, p.change, dst);
        break;
    }
  }

  const Json& config() const override { return config_; }
  const Json& generation_config() const override { return generation_config_; }
  std::string where(const SourceTensor&) const override { return file_.path(); }

 private:
  // Per head of d rows: row s · d/2 + i here is row 2i + s of the file.
  void read_unpermuted(const GgufTensor& stored, std::int64_t heads, std::size_t offset,
                       std::span<std::byte> dst) const {
    const auto d = static_cast<std::size_t>(stored.shape[0] / heads);
    const std::size_t row = stored.bytes / static_cast<std::size_t>(stored.shape[0]);
    HEARTH_CHECK(offset % row == 0 && dst.size() % row == 0);
    const std::size_t begin = offset / row, end = begin + dst.size() / row;
    std::vector<std::byte> head(d * row);
    for (std::size_t h = begin / d; h * d < end; ++h) {
      file_.read(stored, head, h * d * row);
      for (std::size_t r = std::max(begin, h * d); r < std::min(end, (h + 1) * d); ++r) {
        const std::size_t s = r % d / (d / 2), i = r % d % (d / 2);
        std::memcpy(dst.data() + (r - begin) * row, head.data() + (2 * i + s) * row, row);
      }
    }
  }

  void read_changed(const GgufTensor& stored, GgufChange change, std::span<std::byte> dst) const {
    std::vector<float> x = file_.read_f32(stored);
    for (float& v : x) {
      if (change == GgufChange::log_negative && !(v <= 0)) {
        throw StartupError(fmt::format("expected -exp(A_log), never above zero, found {}", v),
                           file_.path() + ": " + stored.name, "the file is damaged: fetch it again");
      }
      v = change == GgufChange::minus_one ? v - 1.0f : std::log(-v);
    }
    std::memcpy(dst.data(), x.data(), dst.size());
  }

  GgufFile file_;
  Json config_;
  Json generation_config_;
  std::vector<GgufPlacement> places_;
  std::vector<SourceTensor> tensors_;  // parallel to places_
  std::unordered_map<std::string_view, std::size_t> by_name_;
};

}  // namespace

std::unique_ptr<WeightSource> open_gguf(const std::string& path) { return std::make_unique<GgufSource>(path); }

}  // namespace hearth
