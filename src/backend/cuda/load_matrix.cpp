// load_matrix: stored rows go through a bounded staging buffer into tiles (kernels/matrix.h), or, widened, into f32 rows.
#include <algorithm>
#include <cstring>

#include "backend/cuda/check.h"
#include "backend/cuda/cuda_ops_impl.h"
#include "backend/cuda/kernels/pack.h"
#include "base/status.h"
#include "quant/format.h"

namespace hearth {
namespace {

constexpr std::int64_t kStagingBytes = std::int64_t{16} << 20;

cuda::Kind kind_of(Format format) {
  return format == Format::f8_e4m3 ? cuda::Kind::fp8 : format == Format::bf16 ? cuda::Kind::bf16 : cuda::Kind::f32;
}
std::size_t data_bytes(cuda::Kind kind, std::int64_t rows, std::int64_t cols) {
  if (kind == cuda::Kind::f32) return static_cast<std::size_t>(rows * cols) * sizeof(float);
  return static_cast<std::size_t>(cuda::tiles_down(rows) * cuda::tiles_across(kind, cols)) * cuda::kTileBytes;
}

}  // namespace

std::shared_ptr<void> WeightArena::take(std::size_t bytes) {
  const std::size_t size = (bytes + 255) / 256 * 256;
  if (size >= kSlab / 4) {
    auto own = std::make_shared<Buffer>(device_.alloc(size, "weights"));
    return {own, own->data()};
  }
  if (!slab_ || used_ + size > slab_->bytes()) {
    slab_ = std::make_shared<Buffer>(device_.alloc(kSlab, "weights"));
    used_ = 0;
  }
  void* p = static_cast<char*>(slab_->data()) + used_;
  used_ += size;
  return {slab_, p};
}

Arithmetic CudaOps::arithmetic(const Matrix& w) const {
  switch (cuda_matrix(w).view.kind) {
    case cuda::Kind::fp8:
      return Arithmetic::fp8_128;
    case cuda::Kind::bf16:
      return Arithmetic::bf16;
    case cuda::Kind::f32:
      break;
  }
  return Arithmetic::f32;
}

std::size_t CudaOps::plan_matrix(Format format, std::int64_t rows, std::int64_t cols) {
  const cuda::Kind kind = kind_of(format);
  std::size_t bytes = data_bytes(kind, rows, cols);
  if (kind == cuda::Kind::fp8)
    bytes += static_cast<std::size_t>((rows + 127) / 128 * (cuda::tiles_across(kind, cols) / 4)) * sizeof(float);
  return bytes;
}

Matrix CudaOps::load_matrix(std::span<const StoredMatrix> parts) {
  HEARTH_CHECK(!parts.empty());
  const StoredMatrix& first = parts.front();
  const FormatInfo& info = format_info(first.format);
  if (!info.is_float_weight || first.cols % info.block_elems != 0)
    throw StartupError("a matrix of " + std::to_string(first.cols) + " columns in format " + std::string(info.name) +
                           " cannot be used as weights",
                       "load_matrix", "floating-point and block formats with whole blocks a row are supported");
  auto m = std::make_shared<CudaMatrix>();
  cuda::MatrixView& v = m->view;
  v.kind = kind_of(first.format);
  v.cols = first.cols;
  for (const StoredMatrix& part : parts) {
    HEARTH_CHECK(part.format == first.format && part.cols == first.cols);
    v.rows += part.rows;
  }
  v.k_tiles = v.kind == cuda::Kind::f32 ? 0 : static_cast<std::int32_t>(cuda::tiles_across(v.kind, v.cols));
  const std::size_t bytes = data_bytes(v.kind, v.rows, v.cols);
  m->data = arena_.take(bytes);
  v.data = static_cast<const std::uint8_t*>(m->data.get());

  const std::int64_t row_bytes = format_bytes(first.format, first.cols);
  const std::int64_t copied = v.kind == cuda::Kind::f32 ? v.cols * std::int64_t{sizeof(float)} : row_bytes;  // of a row
  const std::int64_t chunk = std::max<std::int64_t>(1, kStagingBytes / copied);
  std::vector<float> wide;
  std::vector<std::byte> stored;
  std::int64_t row = 0;
  for (const StoredMatrix& part : parts) {
    for (std::int64_t r = 0; r < part.rows; r += chunk) {
      const std::int64_t n = std::min(chunk, part.rows - r);
      const std::byte* from = part.data + r * row_bytes;
      if (part.data == nullptr) {
        stored.resize(static_cast<std::size_t>(n * row_bytes));
        part.read(r, stored);
        from = stored.data();
      }
      if (v.kind == cuda::Kind::f32) {
        wide.resize(static_cast<std::size_t>(n * v.cols));
        info.dequantize(from, n * v.cols, wide.data());
        device_.copy_in(static_cast<float*>(m->data.get()) + (row + r) * v.cols, wide.data(),
                        wide.size() * sizeof(float));
      } else {
        const auto room = static_cast<std::size_t>(std::max(kStagingBytes, copied));
        if (staging_.bytes() < room) staging_ = device_.alloc(room, "workspace");
        auto* staging = static_cast<std::uint8_t*>(staging_.data());
        device_.copy_in(staging, from, static_cast<std::size_t>(n * row_bytes));
        cuda::pack_tiles(device_.stream(), static_cast<std::uint8_t*>(m->data.get()), v.k_tiles, row + r, staging, n,
                         row_bytes);
      }
    }
    row += part.rows;
  }

  std::size_t scale_bytes = 0;
  if (v.kind == cuda::Kind::fp8) {
    const std::int64_t grid_cols = v.k_tiles / 4;
    std::vector<float> scales;
    std::vector<std::int32_t> scale_row;
    for (const StoredMatrix& part : parts) {
      const auto begin = static_cast<std::int64_t>(scales.size()) / grid_cols;
      for (std::int64_t r = 0; r < part.rows; ++r) scale_row.push_back(static_cast<std::int32_t>(begin + r / 128));
      scales.insert(scales.end(), part.scales, part.scales + (part.rows + 127) / 128 * grid_cols);
    }
    m->scales = arena_.take(scales.size() * sizeof(float));
    device_.copy_in(m->scales.get(), scales.data(), scales.size() * sizeof(float));
    scale_bytes = scales.size() * sizeof(float);
    // The grid begins anew with each part: where that is not at a multiple of 128 rows, each row says which it takes.
    bool plain = true;
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) plain = plain && parts[i].rows % 128 == 0;
    if (!plain) {
      m->scale_row = arena_.take(scale_row.size() * sizeof(std::int32_t));
      device_.copy_in(m->scale_row.get(), scale_row.data(), scale_row.size() * sizeof(std::int32_t));
      scale_bytes += scale_row.size() * sizeof(std::int32_t);
    }
    v.scales = static_cast<const float*>(m->scales.get());
    v.scale_row = static_cast<const std::int32_t*>(m->scale_row.get());
  }
  if (v.kind == cuda::Kind::f32 && first.format != Format::f32) {
    Widened& w = widened_[first.format];
    ++w.matrices;
    w.stored += static_cast<std::size_t>(v.rows * row_bytes);
    w.bytes += bytes;
  }
  return Matrix{first.format, v.rows, v.cols, bytes + scale_bytes, m};
}

}  // namespace hearth
