#include "backend/cpu/pack.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>
#include <vector>

#include "backend/cpu/pack_blocks.h"
#include "base/check.h"
#include "base/status.h"
#include "tensor/float16.h"

namespace hearth {
namespace {

// Stored rows that a thread holds at a time while a matrix is packed.
constexpr std::int64_t kReadBytes = 256 << 10;

std::int64_t round_up(std::int64_t n, std::int64_t to) { return (n + to - 1) / to * to; }

std::int64_t scale_blocks(std::int64_t cols) { return (cols + kScaleBlock - 1) / kScaleBlock; }

// Rows [begin, end) of a stack of parts, read into `buffer` where they do not lie in memory.
class StoredRows {
 public:
  struct Row {
    const StoredMatrix* part;
    std::int64_t row;  // of the part
    const std::byte* data;
  };

  StoredRows(std::span<const StoredMatrix> parts, std::int64_t row_bytes, std::int64_t begin, std::int64_t end,
             std::vector<std::byte>& buffer)
      : parts_(parts), row_bytes_(row_bytes), begin_(begin), buffer_(buffer) {
    std::int64_t first = 0;  // row of the stack at which a part begins
    for (const StoredMatrix& part : parts) {
      const std::int64_t lo = std::max(begin, first), hi = std::min(end, first + part.rows);
      if (lo < hi && part.data == nullptr) {
        buffer.resize(std::max(buffer.size(), static_cast<std::size_t>((end - begin) * row_bytes)));
        part.read(lo - first,
                  {buffer.data() + (lo - begin) * row_bytes, static_cast<std::size_t>((hi - lo) * row_bytes)});
      }
      first += part.rows;
    }
  }

  Row at(std::int64_t row) const {
    std::int64_t first = 0;
    for (const StoredMatrix& part : parts_) {
      if (row < first + part.rows)
        return {&part, row - first,
                part.data != nullptr ? part.data + (row - first) * row_bytes_
                                     : buffer_.data() + (row - begin_) * row_bytes_};
      first += part.rows;
    }
    HEARTH_CHECK(false && "row of a stack");
    return {};
  }

 private:
  std::span<const StoredMatrix> parts_;
  std::int64_t row_bytes_, begin_;
  const std::vector<std::byte>& buffer_;
};

// Byte of column k, lane r: four columns as two groups of 16 pairs.
std::int64_t f8_offset(std::int64_t k, std::int64_t r) { return k / 4 * 64 + k % 4 / 2 * 32 + 2 * r + k % 2; }

void put_float_row(Layout layout, const std::byte* row, std::int64_t cols, std::byte* panel, std::int64_t lane) {
  for (std::int64_t k = 0; k < cols; ++k) {
    switch (layout) {
      case Layout::f32:
        std::memcpy(panel + (k * 16 + lane) * 4, row + 4 * k, 4);
        break;
      case Layout::f16:
        std::memcpy(panel + (k * 16 + lane) * 2, row + 2 * k, 2);
        break;
      case Layout::bf16:
        std::memcpy(panel + k / 2 * 64 + lane * 4 + k % 2 * 2, row + 2 * k, 2);
        break;
      default:
        panel[f8_offset(k, lane)] = row[k];
    }
  }
}

bool has_nan_e4m3(const std::byte* row, std::int64_t cols) {
  return std::any_of(row, row + cols, [](std::byte b) { return (b & std::byte{0x7f}) == std::byte{0x7f}; });
}

// Plain formats whose values another layout holds exactly.
Format stored_as(Format format) {
  return format == Format::f64 || format == Format::q2_k || format == Format::f8_e5m2 ? Format::f32 : format;
}

// Panel p of m, whose memory is zero, and for FP8 its part of the scales.
void pack_panel(const PackedMatrix& m, Format format, const StoredRows& rows, std::int64_t p, std::byte* panel,
                float* scales) {
  const std::int64_t cols = m.cols, blocks = scale_blocks(cols);
  std::vector<float> widened;
  for (std::int64_t lane = 0; lane < kPanelRows && p * kPanelRows + lane < m.rows; ++lane) {
    const StoredRows::Row stored = rows.at(p * kPanelRows + lane);
    const std::byte* row = stored.data;
    if (!is_float(m.layout)) {
      const int columns = layout_block_columns(m.layout);
      Columns c;
      for (std::int64_t k = 0; k < cols; k += columns) {
        split_block(format, row, k, m.layout, c);
        put_block(m.layout, c, panel + static_cast<std::size_t>(k / columns) * layout_block_bytes(m.layout),
                  static_cast<int>(lane));
      }
      continue;
    }
    if (stored_as(format) != format) {
      widened.resize(static_cast<std::size_t>(cols));
      format_info(format).dequantize(row, cols, widened.data());
      row = reinterpret_cast<const std::byte*>(widened.data());
    }
    put_float_row(m.layout, row, cols, panel, lane);
    if (m.layout != Layout::f8) continue;
    if (has_nan_e4m3(row, cols))
      throw StartupError("an FP8 weight is NaN (byte 0x7f or 0xff)", "weights",
                         "the checkpoint is damaged; fetch it again");
    if (lane > 0 && m.scale_lanes == 1) continue;
    for (std::int64_t b = 0; b < blocks; ++b) {
      const float* from = stored.part->scales;
      const float scale = from != nullptr ? from[stored.row / kScaleBlock * blocks + b] : 1.0f;
      scales[(p * blocks + b) * m.scale_lanes + (m.scale_lanes == 1 ? 0 : lane)] = scale * 256.0f;  // float_gemm.h
    }
  }
}

}  // namespace

LayoutChoice layout_for(Format format) {
  switch (format) {
    case Format::f32:
      return {Layout::f32, format, false};
    case Format::f16:
      return {Layout::f16, format, false};
    case Format::bf16:
      return {Layout::bf16, format, false};
    case Format::f8_e4m3:
      return {Layout::f8, format, false};
    case Format::q8_0:
      return {Layout::q8_0, format, false};
    case Format::q4_0:
      return {Layout::q4_0, format, false};
    case Format::q4_1:
      return {Layout::q4_1, format, false};
    case Format::q5_0:
      return {Layout::q5_0, format, false};
    case Format::q5_1:
      return {Layout::q5_1, format, false};
    case Format::q4_k:
      return {Layout::q4_k, format, false};
    case Format::q5_k:
      return {Layout::q5_k, format, false};
    case Format::q6_k:
      return {Layout::q6_k, format, false};
    // Expanded, each exactly: the same integers under scales that the wider block has room for.
    case Format::q3_k:
      return {Layout::q6_k, Format::q6_k, true};
    case Format::iq4_nl:
      return {Layout::q8_0, Format::q8_0, true};
    case Format::iq4_xs:
    case Format::mxfp4:
      return {Layout::q8_f32, format, true};
    case Format::q2_k:
    case Format::f64:
    case Format::f8_e5m2:
      return {Layout::f32, Format::f32, true};
    default:
      throw StartupError(
          fmt::format("numbers of format {} cannot be the weights of a matrix", format_info(format).name), "weights",
          "expected a floating-point or a GGUF block format");
  }
}

std::size_t panel_bytes(Layout layout, std::int64_t cols) {
  std::int64_t bytes = 0;
  switch (layout) {
    case Layout::f32:
      bytes = cols * 64;
      break;
    case Layout::f16:
    case Layout::bf16:
      bytes = round_up(cols, 2) * 32;
      break;
    case Layout::f8:
      bytes = round_up(cols, 4) * 16;
      break;
    default:
      bytes = cols / layout_block_columns(layout) * static_cast<std::int64_t>(layout_block_bytes(layout));
  }
  return static_cast<std::size_t>(round_up(bytes, 64));
}

std::shared_ptr<PackedMatrix> pack(std::span<const StoredMatrix> parts, Device& device, ThreadPool& pool) {
  HEARTH_CHECK(!parts.empty());
  const Format format = parts[0].format;
  const std::int64_t cols = parts[0].cols;
  const LayoutChoice choice = layout_for(format);
  const FormatInfo& info = format_info(format);
  if (cols <= 0 || cols % info.block_elems != 0)
    throw StartupError(
        fmt::format("a matrix of {} columns in format {}, whose blocks have {}", cols, info.name, info.block_elems),
        "weights", "the columns must be a multiple of the block");
  auto m = std::make_shared<PackedMatrix>();
  m->layout = choice.layout;
  m->cols = cols;
  for (const StoredMatrix& part : parts) {
    HEARTH_CHECK(part.format == format && part.cols == cols);
    m->rows += part.rows;
  }
  m->num_panels = round_up(m->rows, kPanelRows) / kPanelRows;
  m->panel_bytes = panel_bytes(choice.layout, cols);
  const std::size_t weight_bytes = m->panel_bytes * static_cast<std::size_t>(m->num_panels);

  // FP8: a panel has one scale a block of columns, unless rows of several scale rows meet in it.
  std::size_t scale_bytes = 0;
  if (choice.layout == Layout::f8) {
    for (std::int64_t begin = 0, i = 0; i + 1 < static_cast<std::int64_t>(parts.size()); ++i) {
      begin += parts[static_cast<std::size_t>(i)].rows;
      if (begin % kPanelRows != 0) m->scale_lanes = kPanelRows;
    }
    scale_bytes = static_cast<std::size_t>(m->num_panels * scale_blocks(cols) * m->scale_lanes) * sizeof(float);
  }
  m->bytes = weight_bytes + scale_bytes;
  m->storage = device.alloc(m->bytes, "weights");
  auto* const base = static_cast<std::byte*>(m->storage.data());
  m->panels = base;
  if (scale_bytes > 0) m->scales = reinterpret_cast<const float*>(base + weight_bytes);

  // A thread holds the stored rows of a few panels at a time.
  const std::int64_t row_bytes = format_bytes(format, cols);
  const std::int64_t few = std::max<std::int64_t>(1, kReadBytes / (kPanelRows * row_bytes));
  const std::int64_t group = std::clamp<std::int64_t>(m->num_panels / (4 * pool.size()), 1, few);
  std::vector<std::vector<std::byte>> buffers(static_cast<std::size_t>(pool.size()));
  std::mutex mutex;
  std::exception_ptr failed;
  pool.run((m->num_panels + group - 1) / group, [&](std::int64_t item, int worker) {
    try {
      const std::int64_t p0 = item * group, p1 = std::min(p0 + group, m->num_panels);
      const StoredRows rows(parts, row_bytes, p0 * kPanelRows, std::min(p1 * kPanelRows, m->rows),
                            buffers[static_cast<std::size_t>(worker)]);
      for (std::int64_t p = p0; p < p1; ++p)
        pack_panel(*m, format, rows, p, base + static_cast<std::size_t>(p) * m->panel_bytes,
                   reinterpret_cast<float*>(base + weight_bytes));
    } catch (...) {  // a read that failed, a NaN
      std::lock_guard lock(mutex);
      if (!failed) failed = std::current_exception();
    }
  });
  if (failed) std::rethrow_exception(failed);
  return m;
}

void unpack_row(const PackedMatrix& m, std::int64_t row, float* out) {
  const std::byte* panel = m.panels + static_cast<std::size_t>(row / kPanelRows) * m.panel_bytes;
  const std::int64_t lane = row % kPanelRows;
  const auto u16 = [&](std::int64_t offset) {
    std::uint16_t v;
    std::memcpy(&v, panel + offset, 2);
    return v;
  };
  switch (m.layout) {
    case Layout::f32:
      for (std::int64_t k = 0; k < m.cols; ++k) std::memcpy(out + k, panel + (k * 16 + lane) * 4, 4);
      break;
    case Layout::f16:
      for (std::int64_t k = 0; k < m.cols; ++k) out[k] = f16_to_f32(u16((k * 16 + lane) * 2));
      break;
    case Layout::bf16:
      for (std::int64_t k = 0; k < m.cols; ++k) out[k] = bf16_to_f32(u16(k / 2 * 64 + lane * 4 + k % 2 * 2));
      break;
    case Layout::f8: {
      const std::int64_t blocks = scale_blocks(m.cols);
      for (std::int64_t k = 0; k < m.cols; ++k) {
        const std::int64_t at =
            (row / kPanelRows * blocks + k / kScaleBlock) * m.scale_lanes + (m.scale_lanes == 1 ? 0 : lane);
        out[k] = e4m3_to_f32(static_cast<std::uint8_t>(panel[f8_offset(k, lane)])) * (m.scales[at] / 256.0f);
      }
      break;
    }
    default: {
      const int columns = layout_block_columns(m.layout);
      for (std::int64_t k = 0; k < m.cols; k += columns)
        get_block(m.layout, panel + static_cast<std::size_t>(k / columns) * layout_block_bytes(m.layout),
                  static_cast<int>(lane), out + k);
    }
  }
}

}  // namespace hearth
