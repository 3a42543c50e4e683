#include "compute/checked_ops.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace hearth {
namespace {

using Dims = std::vector<std::int64_t>;

[[noreturn]] void fail(const char* op, const std::string& what) {
  check_failed(fmt::format("{}: {}", op, what).c_str(), __FILE__, __LINE__);
}

enum class Rows { contiguous, strided };

void shape(const char* op, const char* name, const Tensor& t, const Dims& dims, DType dtype = DType::f32,
           Rows rows = Rows::contiguous) {
  Dims found;
  for (int i = 0; i < t.rank; ++i) found.push_back(t.dim(i));
  if (t.dtype != dtype || found != dims)
    fail(op, fmt::format("{} is {}, expected {} [{}]", name, t.describe(), dtype_name(dtype), fmt::join(dims, ", ")));
  if (rows == Rows::contiguous ? !t.contiguous() : t.dim(-1) > 1 && t.stride[static_cast<std::size_t>(t.rank - 1)] != 1)
    fail(op, fmt::format("{} {} must be contiguous", name, rows == Rows::contiguous ? "rows" : "last axis"));
  if (t.size() > 0 && t.data == nullptr) fail(op, fmt::format("{} has no memory", name));
}

// First and one past the last byte that a view touches.
std::pair<const char*, const char*> extent(const Tensor& t) {
  std::int64_t last = 0;
  for (int i = 0; i < t.rank; ++i) {
    if (t.dim(i) == 0) return {nullptr, nullptr};
    last += (t.dim(i) - 1) * t.stride[static_cast<std::size_t>(i)];
  }
  return {t.ptr<char>(), t.ptr<char>() + (last + 1) * dtype_bytes(t.dtype)};
}

bool same_view(const Tensor& a, const Tensor& b) {
  return a.data == b.data && a.stride == b.stride && a.shape == b.shape;
}

void apart(const char* op, const Tensor& out, const Tensor& in, const char* names) {
  const auto [a, a_end] = extent(out);
  const auto [b, b_end] = extent(in);
  if (a < b_end && b < a_end) fail(op, fmt::format("{} overlap", names));
}

void apart_or_in_place(const char* op, const Tensor& out, const Tensor& in, const char* names) {
  if (!same_view(out, in)) apart(op, out, in, names);
}

void range(const char* op, const char* name, const Tensor& ids, std::int64_t end) {
  for (std::int64_t i = 0; i < ids.size(); ++i) {
    const std::int32_t v = ids.ptr<std::int32_t>()[i];
    if (v < 0 || v >= end) fail(op, fmt::format("{}[{}] is {}, expected 0 … {}", name, i, v, end - 1));
  }
}

void check_batch(const char* op, const Batch& b, std::int64_t T) {
  const std::int64_t B = b.seq_lens.dim(0);
  shape(op, "positions", b.positions, {T}, DType::i32);
  shape(op, "seq_of_row", b.seq_of_row, {T}, DType::i32);
  shape(op, "cu_seqlens_q", b.cu_seqlens_q, {B + 1}, DType::i32);
  shape(op, "seq_lens", b.seq_lens, {B}, DType::i32);
  range(op, "seq_of_row", b.seq_of_row, B);
  const std::int32_t* cu = b.cu_seqlens_q.ptr<std::int32_t>();
  if (cu[0] != 0 || cu[B] != T) fail(op, fmt::format("cu_seqlens_q spans {} … {}, expected 0 … {}", cu[0], cu[B], T));
  for (std::int64_t s = 0; s < B; ++s) {
    if (cu[s] > cu[s + 1]) fail(op, fmt::format("cu_seqlens_q falls at sequence {}", s));
    const std::int32_t length = b.seq_lens.ptr<std::int32_t>()[s], rows = cu[s + 1] - cu[s];
    for (std::int32_t i = 0; i < rows; ++i) {
      const std::int32_t row = cu[s] + i, position = b.positions.ptr<std::int32_t>()[row];
      if (b.seq_of_row.ptr<std::int32_t>()[row] != s || position != length - rows + i)
        fail(op, fmt::format("row {} says sequence {} position {}, expected {} and {}", row,
                             b.seq_of_row.ptr<std::int32_t>()[row], position, s, length - rows + i));
    }
  }
}

void check_cache(const char* op, const KvCache& c, const Batch& b, std::int64_t K) {
  const Dims dims{c.k.dim(0), b.block_tokens, c.k.dim(2), K};
  if (c.k.dtype != DType::f32 && c.k.dtype != DType::f16 && c.k.dtype != DType::bf16)
    fail(op, "a cache is f32, f16 or bf16");
  shape(op, "cache.k", c.k, dims, c.k.dtype);
  shape(op, "cache.v", c.v, dims, c.k.dtype);
}

void check_state(const char* op, const Tensor& state, const Dims& row, const Batch& b) {
  Dims dims{state.dim(0)};
  dims.insert(dims.end(), row.begin(), row.end());
  shape(op, "state", state, dims);
  shape(op, "state_slots", b.state_slots, {b.seq_lens.dim(0)}, DType::i32);
  range(op, "state_slots", b.state_slots, state.dim(0));
}

Dims dims_of(const Tensor& t) {
  Dims d;
  for (int i = 0; i < t.rank; ++i) d.push_back(t.dim(i));
  return d;
}

}  // namespace

Matrix CheckedOps::load_matrix(std::span<const StoredMatrix> parts) {
  std::int64_t rows = 0;
  for (const StoredMatrix& p : parts) {
    if (p.format != parts[0].format || p.cols != parts[0].cols)
      fail("load_matrix", "parts differ in format or columns");
    if ((p.format == Format::f8_e4m3) != (p.scales != nullptr))
      fail("load_matrix", "scales belong to f8_e4m3, and only there");
    rows += p.rows;
  }
  const Matrix m = inner_->load_matrix(parts);
  if (m.rows != rows || m.cols != parts[0].cols || !m)
    fail("load_matrix", fmt::format("gives [{}, {}]", m.rows, m.cols));
  return m;
}

void CheckedOps::embed(Tensor out, Tensor ids, const Matrix& table) {
  shape("embed", "ids", ids, {ids.dim(0)}, DType::i32);
  shape("embed", "out", out, {ids.dim(0), table.cols});
  range("embed", "ids", ids, table.rows);
  inner_->embed(out, ids, table);
}

void CheckedOps::rms_norm(Tensor out, Tensor x, Tensor w, float eps) {
  shape("rms_norm", "x", x, dims_of(x), DType::f32, Rows::strided);
  shape("rms_norm", "out", out, dims_of(x), DType::f32, Rows::strided);
  shape("rms_norm", "w", w, {x.dim(-1)});
  apart_or_in_place("rms_norm", out, x, "out and x");
  inner_->rms_norm(out, x, w, eps);
}

void CheckedOps::add_rms_norm(Tensor out, Tensor r, Tensor m, Tensor w, float eps) {
  const Dims d{r.dim(0), r.dim(1)};
  shape("add_rms_norm", "r", r, d);
  shape("add_rms_norm", "m", m, d);
  shape("add_rms_norm", "out", out, d);
  shape("add_rms_norm", "w", w, {d[1]});
  apart("add_rms_norm", out, r, "out and r");
  apart("add_rms_norm", out, m, "out and m");
  apart("add_rms_norm", r, m, "r and m");
  inner_->add_rms_norm(out, r, m, w, eps);
}

void CheckedOps::add(Tensor x, Tensor y) {
  shape("add", "x", x, dims_of(x));
  shape("add", "y", y, dims_of(x));
  apart("add", x, y, "x and y");
  inner_->add(x, y);
}

void CheckedOps::linear(Tensor out, Tensor x, const Matrix& w, Tensor bias) {
  shape("linear", "x", x, {x.dim(0), w.cols});
  shape("linear", "out", out, {x.dim(0), w.rows});
  if (bias.data != nullptr) shape("linear", "bias", bias, {w.rows});
  apart("linear", out, x, "out and x");
  inner_->linear(out, x, w, bias);
}

void CheckedOps::linear_many(std::span<const Tensor> outs, Tensor x, std::span<const Matrix* const> ws,
                             std::span<const Tensor> biases) {
  if (outs.size() != ws.size() || (!biases.empty() && biases.size() != ws.size()))
    fail("linear_many", "outs, ws and biases differ in number");
  for (std::size_t i = 0; i < outs.size(); ++i) {
    shape("linear_many", "x", x, {x.dim(0), ws[i]->cols});
    shape("linear_many", "out", outs[i], {x.dim(0), ws[i]->rows});
    if (!biases.empty() && biases[i].data != nullptr) shape("linear_many", "bias", biases[i], {ws[i]->rows});
    apart("linear_many", outs[i], x, "out and x");
    for (std::size_t j = 0; j < i; ++j) apart("linear_many", outs[i], outs[j], "two outs");
  }
  inner_->linear_many(outs, x, ws, biases);
}

void CheckedOps::silu_mul(Tensor out, Tensor gate, Tensor up) {
  shape("silu_mul", "out", out, dims_of(gate));
  shape("silu_mul", "gate", gate, dims_of(gate));
  shape("silu_mul", "up", up, dims_of(gate));
  apart_or_in_place("silu_mul", out, gate, "out and gate");
  apart_or_in_place("silu_mul", out, up, "out and up");
  inner_->silu_mul(out, gate, up);
}

void CheckedOps::sigmoid_mul(Tensor out, Tensor x, Tensor gate) {
  shape("sigmoid_mul", "out", out, dims_of(x), DType::f32, Rows::strided);
  shape("sigmoid_mul", "x", x, dims_of(x), DType::f32, Rows::strided);
  shape("sigmoid_mul", "gate", gate, dims_of(x), DType::f32, Rows::strided);
  apart_or_in_place("sigmoid_mul", out, x, "out and x");
  apart_or_in_place("sigmoid_mul", out, gate, "out and gate");
  inner_->sigmoid_mul(out, x, gate);
}

void CheckedOps::add_sigmoid_scaled(Tensor x, Tensor y, Tensor s) {
  shape("add_sigmoid_scaled", "x", x, {x.dim(0), x.dim(1)});
  shape("add_sigmoid_scaled", "y", y, {x.dim(0), x.dim(1)});
  shape("add_sigmoid_scaled", "s", s, {x.dim(0), 1});
  apart("add_sigmoid_scaled", x, y, "x and y");
  apart("add_sigmoid_scaled", x, s, "x and s");
  inner_->add_sigmoid_scaled(x, y, s);
}

void CheckedOps::gather_rows(Tensor out, Tensor x, Tensor rows) {
  shape("gather_rows", "x", x, {x.dim(0), x.dim(1)});
  shape("gather_rows", "rows", rows, {rows.dim(0)}, DType::i32);
  shape("gather_rows", "out", out, {rows.dim(0), x.dim(1)});
  range("gather_rows", "rows", rows, x.dim(0));
  apart("gather_rows", out, x, "out and x");
  inner_->gather_rows(out, x, rows);
}

void CheckedOps::rope(Tensor x, Tensor positions, Tensor inv_freq, RopeStyle style) {
  shape("rope", "x", x, {x.dim(0), x.dim(1), x.dim(2)}, DType::f32, Rows::strided);
  shape("rope", "positions", positions, {x.dim(0)}, DType::i32);
  shape("rope", "inv_freq", inv_freq, {inv_freq.dim(0)});
  if (2 * inv_freq.dim(0) > x.dim(2))
    fail("rope", fmt::format("{} frequencies for heads of {}", inv_freq.dim(0), x.dim(2)));
  inner_->rope(x, positions, inv_freq, style);
}

void CheckedOps::write_kv(const KvCache& cache, Tensor k, Tensor v, const Batch& batch) {
  const Dims rows{k.dim(0), cache.k.dim(2), k.dim(2)};
  shape("write_kv", "k", k, rows);
  shape("write_kv", "v", v, rows);
  check_cache("write_kv", cache, batch, k.dim(2));
  shape("write_kv", "slot_mapping", batch.slot_mapping, {k.dim(0)}, DType::i32);
  range("write_kv", "slot_mapping", batch.slot_mapping, cache.k.dim(0) * batch.block_tokens);
  inner_->write_kv(cache, k, v, batch);
}

void CheckedOps::attention(Tensor out, Tensor q, const KvCache& cache, const Batch& batch, float scale) {
  const Dims d{q.dim(0), q.dim(1), q.dim(2)};
  shape("attention", "q", q, d);
  shape("attention", "out", out, d);
  check_batch("attention", batch, d[0]);
  check_cache("attention", cache, batch, d[2]);
  if (d[1] % cache.k.dim(2) != 0)
    fail("attention", fmt::format("{} query heads over {} KV heads", d[1], cache.k.dim(2)));
  shape("attention", "block_tables", batch.block_tables, {batch.seq_lens.dim(0), batch.block_tables.dim(1)},
        DType::i32);
  range("attention", "block_tables", batch.block_tables, cache.k.dim(0));
  for (std::int64_t s = 0; s < batch.seq_lens.dim(0); ++s)
    if (batch.seq_lens.ptr<std::int32_t>()[s] > batch.block_tables.dim(1) * batch.block_tokens)
      fail("attention", "a block table is too short");
  apart("attention", out, q, "out and q");
  inner_->attention(out, q, cache, batch, scale);
}

void CheckedOps::causal_conv1d(Tensor out, Tensor u, Tensor w, Tensor state, const Batch& batch) {
  const std::int64_t T = u.dim(0), C = u.dim(1);
  shape("causal_conv1d", "u", u, {T, C});
  shape("causal_conv1d", "out", out, {T, C});
  shape("causal_conv1d", "w", w, {C, 4});
  check_batch("causal_conv1d", batch, T);
  check_state("causal_conv1d", state, {3, C}, batch);
  apart("causal_conv1d", out, u, "out and u");
  inner_->causal_conv1d(out, u, w, state, batch);
}

void CheckedOps::gdn_gates(Tensor g, Tensor beta, Tensor a, Tensor b, Tensor a_log, Tensor dt_bias) {
  const Dims d{a.dim(0), a.dim(1)};
  for (const auto& [name, t] : {std::pair{"g", &g}, {"beta", &beta}, {"a", &a}, {"b", &b}})
    shape("gdn_gates", name, *t, d);
  shape("gdn_gates", "A_log", a_log, {d[1]});
  shape("gdn_gates", "dt_bias", dt_bias, {d[1]});
  apart("gdn_gates", g, beta, "g and beta");
  for (const Tensor* in : {&a, &b})
    apart("gdn_gates", g, *in, "g and an input"), apart("gdn_gates", beta, *in, "beta and an input");
  inner_->gdn_gates(g, beta, a, b, a_log, dt_bias);
}

void CheckedOps::l2_norm(Tensor out, Tensor x, float eps, float scale) {
  shape("l2_norm", "x", x, dims_of(x), DType::f32, Rows::strided);
  shape("l2_norm", "out", out, dims_of(x), DType::f32, Rows::strided);
  apart_or_in_place("l2_norm", out, x, "out and x");
  inner_->l2_norm(out, x, eps, scale);
}

void CheckedOps::gated_delta_rule(Tensor y, Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, Tensor state,
                                  HeadMap map, const Batch& batch) {
  const std::int64_t T = q.dim(0), Hk = q.dim(1), Dk = q.dim(2), Hv = v.dim(1), Dv = v.dim(2);
  shape("gated_delta_rule", "q", q, {T, Hk, Dk}, DType::f32, Rows::strided);
  shape("gated_delta_rule", "k", k, {T, Hk, Dk}, DType::f32, Rows::strided);
  shape("gated_delta_rule", "v", v, {T, Hv, Dv}, DType::f32, Rows::strided);
  shape("gated_delta_rule", "y", y, {T, Hv, Dv}, DType::f32, Rows::strided);
  shape("gated_delta_rule", "g", g, {T, Hv});
  shape("gated_delta_rule", "beta", beta, {T, Hv});
  if (Hv % Hk != 0) fail("gated_delta_rule", fmt::format("{} value heads over {} key heads", Hv, Hk));
  check_batch("gated_delta_rule", batch, T);
  check_state("gated_delta_rule", state, {Hv, Dk, Dv}, batch);
  for (const Tensor* in : {&q, &k, &v, &g, &beta}) apart("gated_delta_rule", y, *in, "y and an input");
  inner_->gated_delta_rule(y, q, k, v, g, beta, state, map, batch);
}

void CheckedOps::gated_rms_norm(Tensor out, Tensor x, Tensor z, Tensor w, float eps) {
  shape("gated_rms_norm", "x", x, dims_of(x));
  shape("gated_rms_norm", "z", z, dims_of(x));
  shape("gated_rms_norm", "out", out, dims_of(x));
  shape("gated_rms_norm", "w", w, {x.dim(-1)});
  apart_or_in_place("gated_rms_norm", out, x, "out and x");
  apart("gated_rms_norm", out, z, "out and z");
  inner_->gated_rms_norm(out, x, z, w, eps);
}

void CheckedOps::router_topk(Tensor weights, Tensor ids, Tensor logits, bool renormalise) {
  const std::int64_t T = logits.dim(0), E = logits.dim(1), A = ids.dim(1);
  shape("router_topk", "logits", logits, {T, E});
  shape("router_topk", "weights", weights, {T, A});
  shape("router_topk", "ids", ids, {T, A}, DType::i32);
  if (A > E) fail("router_topk", fmt::format("{} of {} experts", A, E));
  inner_->router_topk(weights, ids, logits, renormalise);
}

void CheckedOps::moe(Tensor out, Tensor x, Tensor weights, Tensor ids, const Experts& experts) {
  const std::int64_t T = x.dim(0), D = x.dim(1), A = ids.dim(1),
                     E = static_cast<std::int64_t>(experts.gate_proj.size());
  shape("moe", "x", x, {T, D});
  shape("moe", "out", out, {T, D});
  shape("moe", "weights", weights, {T, A});
  shape("moe", "ids", ids, {T, A}, DType::i32);
  range("moe", "ids", ids, E);
  if (experts.up_proj.size() != experts.gate_proj.size() || experts.down_proj.size() != experts.gate_proj.size())
    fail("moe", "the lists of experts differ in length");
  const std::int64_t F = experts.gate_proj.at(0).rows;
  for (std::size_t e = 0; e < experts.gate_proj.size(); ++e) {
    const Matrix &gate = experts.gate_proj[e], &up = experts.up_proj[e], &down = experts.down_proj[e];
    if (gate.rows != F || gate.cols != D || up.rows != F || up.cols != D || down.rows != D || down.cols != F)
      fail("moe", fmt::format("expert {} is [{}, {}], [{}, {}], [{}, {}]", e, gate.rows, gate.cols, up.rows, up.cols,
                              down.rows, down.cols));
  }
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t a = 0; a < A; ++a)
      for (std::int64_t b = 0; b < a; ++b)
        if (ids.row<std::int32_t>(t)[a] == ids.row<std::int32_t>(t)[b])
          fail("moe", fmt::format("row {} names an expert twice", t));
  apart("moe", out, x, "out and x");
  inner_->moe(out, x, weights, ids, experts);
}

}  // namespace hearth
