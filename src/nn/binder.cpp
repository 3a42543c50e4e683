#include "nn/binder.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>
#include <deque>

#include "base/status.h"
#include "checkpoint/fp8_scales.h"
#include "quant/block_scales.h"
#include "quant/fp8_block128.h"

namespace hearth {
namespace {

std::int64_t numbers_of(const SourceTensor& t) {
  std::int64_t n = 1;
  for (const std::int64_t d : t.shape) n *= d;
  return n;
}

[[noreturn]] void mismatch(const WeightSource& source, const SourceTensor& t, const std::string& expected) {
  throw StartupError(fmt::format("tensor {} is {} [{}], the model expects {}", t.name, format_info(t.format).name,
                                 fmt::join(t.shape, ", "), expected),
                     source.where(t), "the weights do not belong to this config.json, or the file was altered");
}

[[noreturn]] void not_finite(const WeightSource& source, const SourceTensor& t, const std::string& what) {
  throw StartupError(fmt::format("tensor {}: {} is NaN or infinite", t.name, what), source.where(t),
                     "the checkpoint is damaged: fetch it again");
}

}  // namespace

Binder::Binder(WeightSource& source, Ops& ops, std::function<void(std::int64_t)> progress)
    : source_(source), ops_(ops), progress_(std::move(progress)) {}

bool Binder::has(std::string_view name) const { return source_.find(name) != nullptr; }

const SourceTensor& Binder::take(const std::string& name, std::span<const std::int64_t> shape) {
  const SourceTensor* t = source_.want(name, shape);
  if (t == nullptr)
    throw StartupError(fmt::format("the checkpoint has no tensor {}", name), "checkpoint",
                       "the download is incomplete, or the weights do not belong to this config.json");
  if (used_.insert(name).second) taken_bytes_ += t->bytes;
  return *t;
}

Matrix Binder::matrix(const std::string& name, std::int64_t rows, std::int64_t cols) {
  return matrix(std::vector<std::string>{name}, {rows}, cols);
}

Matrix Binder::matrix(const std::vector<std::string>& names, const std::vector<std::int64_t>& rows, std::int64_t cols) {
  HEARTH_CHECK(!names.empty() && names.size() == rows.size());
  std::vector<StoredMatrix> parts;
  std::deque<std::vector<float>> scales;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const SourceTensor& t = take(names[i], std::array{rows[i], cols});
    const bool shaped = t.shape == std::vector<std::int64_t>{rows[i], cols} ||
                        (rows[i] == 1 && t.shape == std::vector<std::int64_t>{cols});
    if (!shaped || !format_info(t.format).is_float_weight)
      mismatch(source_, t, fmt::format("floating-point [{}, {}]", rows[i], cols));
    if (i > 0 && t.format != parts.front().format)
      mismatch(source_, t, fmt::format("format {}, that of {}", format_info(parts.front().format).name, names.front()));
    StoredMatrix& part = parts.emplace_back();
    part.format = t.format;
    part.rows = rows[i];
    part.cols = cols;
    part.read = [this, &t, row_bytes = t.bytes / rows[i]](std::int64_t begin, std::span<std::byte> dst) {
      source_.read_range(t, begin * row_bytes, dst);
      if (const std::int64_t bad = find_bad_scale(t.format, dst); bad >= 0)
        not_finite(source_, t,
                   fmt::format("a block scale in row {}", begin + bad * format_info(t.format).block_bytes / row_bytes));
      if (progress_) progress_(static_cast<std::int64_t>(dst.size()));
    };
    if (t.format == Format::f8_e4m3) {
      scales.push_back(read_fp8_scales(source_, t));
      part.scales = scales.back().data();
      const SourceTensor& s = take(names[i] + "_scale_inv", std::array{fp8_blocks(rows[i]), fp8_blocks(cols)});
      if (progress_) progress_(s.bytes);
    }
  }
  return ops_.load_matrix(parts);
}

Tensor Binder::vector(const std::string& name, std::int64_t numbers, float plus) {
  const SourceTensor& t = take(name, std::array{numbers});
  const FormatInfo& info = format_info(t.format);
  if (numbers_of(t) != numbers || !info.is_float_weight || numbers % info.block_elems != 0)
    mismatch(source_, t, fmt::format("{} floating-point numbers", numbers));
  std::vector<std::byte> bytes(static_cast<std::size_t>(t.bytes));
  source_.read(t, bytes);
  std::vector<float> values(static_cast<std::size_t>(numbers));
  info.dequantize(bytes.data(), numbers, values.data());
  for (float& v : values) {
    if (!std::isfinite(v)) not_finite(source_, t, fmt::format("number {}", &v - values.data()));
    v += plus;
  }
  if (progress_) progress_(t.bytes);
  return constant(values);
}

Tensor Binder::constant(std::span<const float> values) {
  auto buffer = std::make_shared<Buffer>(ops_.device().alloc(values.size_bytes(), "weights"));
  ops_.device().copy_in(buffer->data(), values.data(), values.size_bytes());
  buffers_.push_back(buffer);
  return Tensor(buffer->data(), DType::f32, {static_cast<std::int64_t>(values.size())});
}

void Binder::ignore_prefix(std::string_view prefix) { ignored_prefixes_.emplace_back(prefix); }
void Binder::ignore_suffix(std::string_view suffix) { ignored_suffixes_.emplace_back(suffix); }

bool Binder::ignored(std::string_view name) const {
  for (const std::string& p : ignored_prefixes_)
    if (name.starts_with(p)) return true;
  for (const std::string& s : ignored_suffixes_)
    if (name.ends_with(s)) return true;
  return false;
}

void Binder::finish() const {
  std::vector<std::string> left;
  std::size_t count = 0;
  const SourceTensor* first = nullptr;
  for (const SourceTensor& t : source_.tensors()) {
    if (used_.contains(t.name) || ignored(t.name)) continue;
    if (first == nullptr) first = &t;
    if (++count <= 5) left.push_back(t.name);
  }
  if (count == 0) return;
  throw StartupError(
      fmt::format("{} tensor{} of the checkpoint belong{} to nothing in this model: {}{}", count, count == 1 ? "" : "s",
                  count == 1 ? "s" : "", fmt::join(left, ", "), count > left.size() ? ", …" : ""),
      source_.where(*first),
      "the weights do not belong to this config.json, or the model has parts that are not supported");
}

}  // namespace hearth
