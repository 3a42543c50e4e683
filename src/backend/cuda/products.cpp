// linear, linear_many, moe: products with weight matrices.
#include "backend/cuda/check.h"
#include "backend/cuda/cuda_ops_impl.h"
#include "backend/cuda/kernels/pack.h"
#include "backend/cuda/kernels/router.h"
#include "backend/cuda/kernels/rowwise.h"

namespace hearth {

cuda::Activations CudaOps::packed(cuda::Kind kind, const float* x, std::int64_t x_stride, std::int64_t rows,
                                  std::int64_t cols, std::int64_t silu_half) {
  cuda::Activations a;
  a.rows = rows;
  if (silu_half == 0 && x_stride == cols && kind != cuda::Kind::f32)
    for (const Beside& b : beside_)
      if (b.of == x && b.rows == rows && b.cols == cols) {
        a.q = kind == cuda::Kind::fp8 ? b.packed.fp8 : b.packed.bf16;
        a.scales = b.packed.scales;
        return a;
      }
  const std::int64_t k_tiles = cuda::tiles_across(kind, cols);
  if (kind == cuda::Kind::f32) {
    HEARTH_CHECK(silu_half == 0);
    a.x = x;
    a.x_stride = x_stride;
    return a;
  }
  cuda::QuantizeArgs q{
      x, x_stride, rows, cols, k_tiles, x_q_.get<std::uint8_t>(*this, rows * k_tiles * cuda::kRowBytes), nullptr};
  cudaStream_t s = device_.stream();
  if (kind == cuda::Kind::fp8) {
    q.scales = x_scales_.get<float>(*this, rows * (k_tiles / 4));
    silu_half > 0 ? cuda::quantize_fp8_silu_mul(s, q, silu_half) : cuda::quantize_fp8(s, q);
  } else {
    silu_half > 0 ? cuda::round_bf16_silu_mul(s, q, silu_half) : cuda::round_bf16(s, q);
  }
  a.q = q.q;
  a.scales = q.scales;
  return a;
}

cuda::PackedRows CudaOps::pack_beside(int slot, const Tensor& t) {
  Beside& b = beside_[slot];
  b.of = t.ptr<float>();
  b.rows = t.dim(0);
  b.cols = t.dim(1);
  cuda::PackedRows& p = b.packed;
  p.fp8_tiles = cuda::tiles_across(cuda::Kind::fp8, b.cols);
  p.bf16_tiles = cuda::tiles_across(cuda::Kind::bf16, b.cols);
  p.fp8 = b.fp8.get<std::uint8_t>(*this, b.rows * p.fp8_tiles * cuda::kRowBytes);
  p.bf16 = b.bf16.get<std::uint8_t>(*this, b.rows * p.bf16_tiles * cuda::kRowBytes);
  p.scales = b.scales.get<float>(*this, b.rows * (p.fp8_tiles / 4));
  return p;
}

void CudaOps::wrote(const Tensor& t) {
  std::int64_t last = 0;
  for (int i = 0; i < t.rank; ++i) last += (t.dim(i) - 1) * t.stride[static_cast<std::size_t>(i)];
  const auto *begin = static_cast<const char*>(t.data), *end = begin + (last + 1) * dtype_bytes(t.dtype);
  for (Beside& b : beside_) {
    const auto* own = reinterpret_cast<const char*>(b.of);
    if (b.of != nullptr && begin < own + b.rows * b.cols * std::int64_t{sizeof(float)} && own < end) b.of = nullptr;
  }
}

void CudaOps::linear_many(std::span<const Tensor> outs, Tensor x, std::span<const Matrix* const> ws,
                          std::span<const Tensor> biases) {
  if (x.dim(0) == 0) return;
  for (const Tensor& out : outs) wrote(out);
  for (const cuda::Kind kind : {cuda::Kind::fp8, cuda::Kind::bf16, cuda::Kind::f32}) {
    cuda::Product list[cuda::kMaxProducts];
    int count = 0;
    const auto flush = [&] {
      if (count > 0)
        cuda::products(device_.stream(), list, count, packed(kind, x.ptr<float>(), x.stride[0], x.dim(0), x.dim(1)));
      count = 0;
    };
    for (std::size_t i = 0; i < ws.size(); ++i) {
      const cuda::MatrixView& w = cuda_matrix(*ws[i]).view;
      if (w.kind != kind) continue;
      const float* bias = i < biases.size() ? biases[i].ptr<const float>() : nullptr;
      list[count++] = {w, bias, outs[i].ptr<float>(), outs[i].stride[0], 0};
      if (count == cuda::kMaxProducts) flush();
    }
    flush();
  }
}

void CudaOps::linear(Tensor out, Tensor x, const Matrix& w, Tensor bias) {
  const Matrix* ws[] = {&w};
  linear_many({&out, 1}, x, ws, {&bias, 1});
}

const cuda::MatrixView* CudaOps::expert_tables(const Experts& experts) {
  const auto& first = experts.gate_proj.front().impl;
  Table& table = tables_[first.get()];
  if (table.owner.lock() != first) {
    std::vector<cuda::MatrixView> views;
    for (const auto* list : {&experts.gate_proj, &experts.up_proj, &experts.down_proj})
      for (const Matrix& m : *list) views.push_back(cuda_matrix(m).view);
    table.owner = first;
    table.buffer = device_.alloc(views.size() * sizeof(cuda::MatrixView), "weights");
    device_.copy_in(table.buffer.data(), views.data(), views.size() * sizeof(cuda::MatrixView));
  }
  return static_cast<const cuda::MatrixView*>(table.buffer.data());
}

void CudaOps::moe(Tensor out, Tensor x, Tensor weights, Tensor ids, const Experts& experts) {
  const std::int64_t T = x.dim(0), D = x.dim(1), A = ids.dim(1), F = experts.gate_proj.front().rows, entries = T * A;
  const auto E = static_cast<std::int64_t>(experts.gate_proj.size());
  if (T == 0) return;
  wrote(out);
  cudaStream_t s = device_.stream();
  const cuda::MatrixView* tables = expert_tables(experts);
  constexpr std::int64_t kUnsorted = 64;  // entries: few share an expert
  std::int32_t *begin = nullptr, *order = nullptr;
  if (entries > kUnsorted) {
    begin = begin_.get<std::int32_t>(*this, E + 1);
    order = order_.get<std::int32_t>(*this, entries);
    cuda::group_by_expert(s, ids.ptr<std::int32_t>(), entries, E, begin, order);
  }

  const std::int64_t half = cuda::tiles_down(F) * cuda::kTileRows;
  float* gate_up = gate_up_.get<float>(*this, entries * 2 * half);
  cuda::ExpertProducts p;
  p.tables = tables;
  p.matrices = 2;
  p.E = E;
  p.rows = F;
  p.cols = D;
  p.kind = cuda_matrix(experts.gate_proj.front()).view.kind;
  p.ids = ids.ptr<std::int32_t>();
  p.begin = begin;
  p.order = order;
  p.entries = entries;
  p.divide = A;
  p.most_rows = T;
  p.out = gate_up;
  p.ld = 2 * half;
  cuda::expert_products(s, p, packed(p.kind, x.ptr<float>(), x.stride[0], T, D));

  p.tables = tables + 2 * E;
  p.matrices = 1;
  p.rows = D;
  p.cols = F;
  p.kind = cuda_matrix(experts.down_proj.front()).view.kind;
  p.divide = 1;
  p.out = down_.get<float>(*this, entries * D);
  p.ld = D;
  if (p.kind == cuda::Kind::f32) {
    float* act = act_.get<float>(*this, entries * half);
    const cuda::Rows gate{gate_up, 1, 2 * half, 0}, up{gate_up + half, 1, 2 * half, 0}, to{act, 1, half, 0};
    cuda::silu_mul_rows(s, to, gate, up, entries, F);
    cuda::expert_products(s, p, packed(p.kind, act, half, entries, F));
  } else {
    cuda::expert_products(s, p, packed(p.kind, gate_up, 2 * half, entries, F, half));
  }
  cuda::add_experts(s, out.ptr<float>(), p.out, weights.ptr<float>(), ids.ptr<std::int32_t>(), T, A, D);
}

}  // namespace hearth
