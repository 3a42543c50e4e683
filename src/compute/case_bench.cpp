#include "compute/case_bench.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

#include "quant/format.h"
#include "quant/fp8_block128.h"
#include "tensor/float16.h"

namespace hearth {
namespace {

constexpr std::uint32_t kPoison = 0x7fc0dead;  // a NaN nobody computes

std::int64_t count(const std::vector<std::int64_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Tensor contiguous(void* data, DType dtype, const std::vector<std::int64_t>& s) {
  switch (s.size()) {
    case 1:
      return Tensor(data, dtype, {s[0]});
    case 2:
      return Tensor(data, dtype, {s[0], s[1]});
    case 3:
      return Tensor(data, dtype, {s[0], s[1], s[2]});
    default:
      return Tensor(data, dtype, {s[0], s[1], s[2], s[3]});
  }
}

// Byte offset of logical number i of a view, from the view's data.
std::int64_t byte_offset(const Tensor& t, std::int64_t i) {
  std::int64_t offset = 0;
  for (int axis = t.rank; axis-- > 0;) {
    offset += i % t.dim(axis) * t.stride[static_cast<std::size_t>(axis)];
    i /= t.dim(axis);
  }
  return offset * dtype_bytes(t.dtype);
}

}  // namespace

Tensor CaseBench::place(DType dtype, const std::vector<std::int64_t>& shape, const void* logical, std::int64_t gap) {
  std::vector<std::int64_t> whole_shape = shape;
  whole_shape.back() += gap;
  const std::int64_t size = count(whole_shape), width = dtype_bytes(dtype);
  std::vector<std::byte> host(static_cast<std::size_t>(size * width));
  if (width == 4)
    for (std::int64_t i = 0; i < size; ++i) std::memcpy(host.data() + i * 4, &kPoison, 4);
  Piece piece;
  piece.buffer = ops_.device().alloc(std::max<std::size_t>(host.size(), 1), "cases");
  piece.whole = contiguous(piece.buffer.data(), dtype, whole_shape);
  const int last = piece.whole.rank - 1;
  piece.view = gap == 0 ? piece.whole : piece.whole.slice(last, gap / 2, gap / 2 + shape.back());
  if (logical != nullptr) {
    const std::int64_t start = static_cast<char*>(piece.view.data) - static_cast<char*>(piece.whole.data);
    for (std::int64_t i = 0; i < count(shape); ++i)
      std::memcpy(host.data() + start + byte_offset(piece.view, i), static_cast<const std::byte*>(logical) + i * width,
                  static_cast<std::size_t>(width));
  }
  if (!host.empty()) ops_.device().copy_in(piece.buffer.data(), host.data(), host.size());
  if (width == 4) {
    piece.before.resize(static_cast<std::size_t>(size));
    std::memcpy(piece.before.data(), host.data(), host.size());
  }
  pieces_.push_back(std::move(piece));
  return pieces_.back().view;
}

Input CaseBench::numbers(Shape shape, std::vector<float> values, std::int64_t gap) {
  const Tensor t = place(DType::f32, shape, values.data(), gap);
  return {t, std::move(values)};
}

Input CaseBench::normal(Shape shape, double scale, std::int64_t gap) {
  std::vector<float> v(static_cast<std::size_t>(count(shape)));
  for (float& x : v) x = static_cast<float>(rng.normal() * scale);
  return numbers(shape, std::move(v), gap);
}

Input CaseBench::uniform(Shape shape, double low, double high, std::int64_t gap) {
  std::vector<float> v(static_cast<std::size_t>(count(shape)));
  for (float& x : v) x = static_cast<float>(low + (high - low) * rng.uniform());
  return numbers(shape, std::move(v), gap);
}

Tensor CaseBench::ints(Shape shape, const std::vector<std::int32_t>& values) {
  return place(DType::i32, shape, values.data(), 0);
}

Tensor CaseBench::out(Shape shape, std::int64_t gap) { return place(DType::f32, shape, nullptr, gap); }
Tensor CaseBench::out_ints(Shape shape) { return place(DType::i32, shape, nullptr, 0); }

Input CaseBench::cache(DType dtype, Shape shape) {
  std::vector<float> v(static_cast<std::size_t>(count(shape)));
  for (float& x : v) x = static_cast<float>(rng.normal());
  if (dtype == DType::f32) return numbers(shape, std::move(v));
  std::vector<std::uint16_t> bits(v.size());
  for (std::size_t i = 0; i < v.size(); ++i) {
    bits[i] = dtype == DType::bf16 ? f32_to_bf16(v[i]) : f32_to_f16(v[i]);
    v[i] = dtype == DType::bf16 ? bf16_to_f32(bits[i]) : f16_to_f32(bits[i]);
  }
  return {place(dtype, shape, bits.data(), 0), std::move(v)};
}

CaseMatrix CaseBench::matrix(Format format, std::vector<std::int64_t> parts, std::int64_t cols) {
  const FormatInfo& info = format_info(format);
  CaseMatrix out;
  out.cols = cols;
  out.rows = std::accumulate(parts.begin(), parts.end(), std::int64_t{0});
  std::deque<std::vector<std::byte>> bytes;
  std::deque<std::vector<float>> scales;
  std::vector<StoredMatrix> stored;
  for (const std::int64_t rows : parts) {
    const std::int64_t n = rows * cols;
    std::vector<float> w(static_cast<std::size_t>(n));
    for (float& x : w) x = static_cast<float>(rng.normal() / std::sqrt(static_cast<double>(cols)));
    auto& data = bytes.emplace_back(static_cast<std::size_t>(format_bytes(format, n)));
    StoredMatrix part{format, rows, cols, data.data(), nullptr};
    if (format == Format::f8_e4m3) {
      auto& s = scales.emplace_back(static_cast<std::size_t>(fp8_blocks(rows) * fp8_blocks(cols)));
      quantize_fp8_block128(w.data(), rows, cols, data.data(), s.data());
      dequantize_fp8_block128(data.data(), s.data(), rows, cols, w.data());
      part.scales = s.data();
    } else if (info.quantize != nullptr) {
      info.quantize(w.data(), n, data.data());
      info.dequantize(data.data(), n, w.data());
    } else {  // a format we only read: random blocks, those whose scale is not an ordinary number drawn again
      for (std::int64_t b = 0; b < n / info.block_elems; ++b) {
        float* values = w.data() + b * info.block_elems;
        std::byte* block = data.data() + b * info.block_bytes;
        do {
          for (int i = 0; i < info.block_bytes; ++i) block[i] = static_cast<std::byte>(rng.next());
          info.dequantize(block, info.block_elems, values);
        } while (!std::all_of(values, values + info.block_elems, [](float x) { return std::fabs(x) < 100.0f; }));
      }
    }
    out.w.insert(out.w.end(), w.begin(), w.end());
    stored.push_back(part);
  }
  out.m = ops_.load_matrix(stored);
  out.arithmetic = ops_.arithmetic(out.m);
  return out;
}

CaseBatch CaseBench::batch(const std::vector<CaseSequence>& sequences, std::int64_t N) {
  CaseBatch c;
  c.B = static_cast<std::int64_t>(sequences.size());
  std::vector<std::int32_t> cu{0}, seq_lens;
  std::int64_t used_blocks = 0;
  for (const CaseSequence& s : sequences) {
    c.max_blocks = std::max(c.max_blocks, (s.cached + s.rows + N - 1) / N);
    used_blocks += (s.cached + s.rows + N - 1) / N;
  }
  c.num_blocks = used_blocks + 3;
  c.num_slots = c.B + 2;
  const auto shuffled = [&](std::int64_t n) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(n));
    std::iota(ids.begin(), ids.end(), 0);
    for (std::size_t i = ids.size(); i > 1; --i) std::swap(ids[i - 1], ids[rng.below(i)]);
    return ids;
  };
  const std::vector<std::int32_t> blocks = shuffled(c.num_blocks), slots = shuffled(c.num_slots);
  c.state_slots.assign(slots.begin(), slots.begin() + c.B);
  c.block_tables.assign(static_cast<std::size_t>(c.B * c.max_blocks), 0);
  std::size_t next = 0;
  for (std::int64_t b = 0; b < c.B; ++b) {
    const CaseSequence& s = sequences[static_cast<std::size_t>(b)];
    std::int32_t* table = c.block_tables.data() + b * c.max_blocks;
    for (std::int64_t i = 0; i < (s.cached + s.rows + N - 1) / N; ++i) table[i] = blocks[next++];
    for (std::int64_t p = s.cached; p < s.cached + s.rows; ++p) {
      c.positions.push_back(static_cast<std::int32_t>(p));
      c.seq_of_row.push_back(static_cast<std::int32_t>(b));
      c.slot_mapping.push_back(static_cast<std::int32_t>(table[p / N] * N + p % N));
    }
    cu.push_back(static_cast<std::int32_t>(c.positions.size()));
    seq_lens.push_back(static_cast<std::int32_t>(s.cached + s.rows));
  }
  c.T = static_cast<std::int64_t>(c.positions.size());
  c.batch = {ints({c.T}, c.positions),
             ints({c.T}, c.seq_of_row),
             ints({c.B + 1}, cu),
             ints({c.B}, seq_lens),
             ints({c.B, c.max_blocks}, c.block_tables),
             ints({c.T}, c.slot_mapping),
             ints({c.B}, c.state_slots),
             N};
  return c;
}

const CaseBench::Piece& CaseBench::piece_of(const Tensor& view) const {
  const auto* p = static_cast<const char*>(view.data);
  for (const Piece& piece : pieces_) {
    const auto* begin = static_cast<const char*>(piece.buffer.data());
    if (begin <= p && p < begin + std::max<std::size_t>(piece.buffer.bytes(), 1)) return piece;
  }
  HEARTH_CHECK(false && "the view belongs to this bench");
  return pieces_.front();
}

std::vector<std::byte> CaseBench::copy_of(const Piece& piece) const {
  std::vector<std::byte> host(static_cast<std::size_t>(piece.whole.size_bytes()));
  if (!host.empty()) ops_.device().copy_out(host.data(), piece.buffer.data(), host.size());
  return host;
}

std::vector<float> CaseBench::read(const Tensor& view) const {
  const Piece& piece = piece_of(view);
  const std::vector<std::byte> host = copy_of(piece);
  const std::int64_t start = static_cast<char*>(view.data) - static_cast<char*>(piece.buffer.data());
  std::vector<float> out(static_cast<std::size_t>(view.size()));
  for (std::int64_t i = 0; i < view.size(); ++i) {
    const std::byte* p = host.data() + start + byte_offset(view, i);
    std::uint32_t bits = 0;
    std::memcpy(&bits, p, static_cast<std::size_t>(dtype_bytes(view.dtype)));
    float& o = out[static_cast<std::size_t>(i)];
    switch (view.dtype) {
      case DType::f32:
        o = std::bit_cast<float>(bits);
        break;
      case DType::i32:
        o = static_cast<float>(std::bit_cast<std::int32_t>(bits));
        break;
      case DType::bf16:
        o = bf16_to_f32(static_cast<std::uint16_t>(bits));
        break;
      case DType::f16:
        o = f16_to_f32(static_cast<std::uint16_t>(bits));
        break;
      default:
        HEARTH_CHECK(false && "f32, i32, bf16 and f16 are read");
    }
  }
  return out;
}

CaseOutput CaseBench::untouched() const {
  std::int64_t changed = 0;
  for (const Piece& piece : pieces_) {
    if (piece.before.empty() || piece.view.size() == piece.whole.size()) continue;
    const std::vector<std::byte> host = copy_of(piece);
    std::vector<bool> inside(piece.before.size(), false);
    const std::int64_t start = static_cast<char*>(piece.view.data) - static_cast<char*>(piece.whole.data);
    for (std::int64_t i = 0; i < piece.view.size(); ++i)
      inside[static_cast<std::size_t>((start + byte_offset(piece.view, i)) / 4)] = true;
    for (std::size_t i = 0; i < inside.size(); ++i)
      changed += !inside[i] && std::memcmp(host.data() + i * 4, &piece.before[i], 4) != 0;
  }
  return {"numbers written outside the views", {static_cast<float>(changed)}, {0.0}};
}

double product_bound(const float* x, const float* w, std::int64_t K, Arithmetic arithmetic) {
  double sum = 0, rounding = 0;
  for (std::int64_t i = 0; i < K; ++i) sum += std::fabs(static_cast<double>(x[i]) * w[i]);
  if (arithmetic == Arithmetic::bf16) rounding = 0x1.0p-8 * sum;
  if (arithmetic == Arithmetic::q8_32 || arithmetic == Arithmetic::q8_256) {
    const std::int64_t run = arithmetic == Arithmetic::q8_32 ? 32 : 256;
    for (std::int64_t begin = 0; begin < K; begin += run) {
      double largest = 0, weight = 0;
      for (std::int64_t i = begin; i < std::min(begin + run, K); ++i) {
        largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
        weight += std::fabs(static_cast<double>(w[i]));
      }
      rounding += 1.01 * largest / 254 * weight;
    }
  }
  if (arithmetic == Arithmetic::fp8_128) {  // half a step of three bits, or of the smallest number
    for (std::int64_t begin = 0; begin < K; begin += 128) {
      double largest = 0;
      for (std::int64_t i = begin; i < std::min(begin + 128, K); ++i)
        largest = std::max(largest, std::fabs(static_cast<double>(x[i])));
      const double smallest = std::max(largest, 1e-10) / 448 * 0x1p-10;
      for (std::int64_t i = begin; i < std::min(begin + 128, K); ++i)
        rounding += 1.01 * std::max(std::fabs(static_cast<double>(x[i])) * 0x1p-4, smallest) *
                    std::fabs(static_cast<double>(w[i]));
    }
  }
  return static_cast<double>(K + 16) * kU * sum + rounding;
}

std::vector<double> linear_bound(const std::vector<float>& x, const CaseMatrix& w, std::int64_t T) {
  std::vector<double> bound;
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t n = 0; n < w.rows; ++n)
      bound.push_back(product_bound(x.data() + t * w.cols, w.row(n), w.cols, w.arithmetic) + 1e-30);
  return bound;
}

std::vector<double> relative(const std::vector<float>& v, double factor, double floor) {
  std::vector<double> bound;
  for (const float x : v) bound.push_back(factor * kU * std::fabs(static_cast<double>(x)) + floor);
  return bound;
}

CaseOutput same_bits(std::string name, const std::vector<float>& a, const std::vector<float>& b) {
  HEARTH_CHECK_EQ(a.size(), b.size());
  std::int64_t different = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    different += std::bit_cast<std::uint32_t>(a[i]) != std::bit_cast<std::uint32_t>(b[i]);
  return {std::move(name), {static_cast<float>(different)}, {0.0}};
}

}  // namespace hearth
