#include "backend/ref/ref_matrix.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "backend/ref/ref_ops.h"
#include "backend/ref/scratch.h"
#include "base/status.h"
#include "quant/format.h"
#include "quant/fp8_block128.h"
#include "quant/fp8_group128.h"

namespace hearth {
namespace {
constexpr std::int64_t kScaleBlock = 128;
}

Matrix RefOps::load_matrix(std::span<const StoredMatrix> parts) {
  HEARTH_CHECK(!parts.empty());
  const StoredMatrix& first = parts.front();
  const FormatInfo& info = format_info(first.format);
  if (!info.is_float_weight || first.cols % info.block_elems != 0)
    throw StartupError(
        fmt::format("a matrix of {} columns in format {} cannot be used as weights", first.cols, info.name),
        "load_matrix", "floating-point and block formats with whole blocks a row are supported");
  auto m = std::make_shared<RefMatrix>();
  m->format = first.format;
  m->cols = first.cols;
  m->row_bytes = format_bytes(first.format, first.cols);
  std::int64_t rows = 0;
  for (const StoredMatrix& part : parts) rows += part.rows;
  m->data.reserve(static_cast<std::size_t>(rows * m->row_bytes));
  const std::int64_t scale_cols = (first.cols + kScaleBlock - 1) / kScaleBlock;
  for (const StoredMatrix& part : parts) {
    HEARTH_CHECK(part.format == first.format && part.cols == first.cols);
    const std::size_t begin = m->data.size(), bytes = static_cast<std::size_t>(part.rows * m->row_bytes);
    m->data.resize(begin + bytes);
    if (part.data != nullptr)
      std::memcpy(m->data.data() + begin, part.data, bytes);
    else
      part.read(0, std::span(m->data).subspan(begin));
    if (part.scales != nullptr) {
      const std::int64_t grid_begin = static_cast<std::int64_t>(m->scales.size()) / scale_cols;
      for (std::int64_t r = 0; r < part.rows; ++r) m->scale_row_of_row.push_back(grid_begin + r / kScaleBlock);
      m->scales.insert(m->scales.end(), part.scales,
                       part.scales + (part.rows + kScaleBlock - 1) / kScaleBlock * scale_cols);
    }
    m->rows += part.rows;
  }
  Matrix out{m->format, m->rows, m->cols, m->data.size() + m->scales.size() * sizeof(float), m};
  return out;
}

void RefMatrix::widen_row(std::int64_t row, std::span<float> out) const {
  HEARTH_CHECK(0 <= row && row < rows);
  format_info(format).dequantize(data.data() + row * row_bytes, cols, out.data());
  if (scales.empty()) return;
  const std::int64_t scale_cols = (cols + kScaleBlock - 1) / kScaleBlock;
  const float* scale = scales.data() + scale_row_of_row[static_cast<std::size_t>(row)] * scale_cols;
  for (std::int64_t c = 0; c < cols; ++c) out[static_cast<std::size_t>(c)] *= scale[c / kScaleBlock];
}

double dot(std::span<const float> a, const float* b) {
  // Four sums side by side: a fixed order, and several times faster than one.
  double s0 = 0, s1 = 0, s2 = 0, s3 = 0;
  std::size_t i = 0;
  for (; i + 4 <= a.size(); i += 4) {
    s0 += static_cast<double>(a[i]) * b[i];
    s1 += static_cast<double>(a[i + 1]) * b[i + 1];
    s2 += static_cast<double>(a[i + 2]) * b[i + 2];
    s3 += static_cast<double>(a[i + 3]) * b[i + 3];
  }
  for (; i < a.size(); ++i) s0 += static_cast<double>(a[i]) * b[i];
  return (s0 + s1) + (s2 + s3);
}

Arithmetic RefOps::arithmetic(const Matrix& w) const {
  return options_.fp8_activations && w.format == Format::f8_e4m3 ? Arithmetic::fp8_128 : Arithmetic::f32;
}

void RefOps::activation(float* out, const Matrix& w, const float* x, const Fp8Row& fp8) const {
  std::copy_n(x, w.cols, out);
  if (arithmetic(w) != Arithmetic::fp8_128) return;
  quantize_fp8_group128(x, w.cols, fp8.q, fp8.scales);
  dequantize_fp8_group128(fp8.q, fp8.scales, w.cols, out);
}

}  // namespace hearth
