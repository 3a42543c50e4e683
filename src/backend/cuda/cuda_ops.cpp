// Operations on rows, attention and the delta net: shapes into launches.
#include "backend/cuda/check.h"
#include "backend/cuda/cuda_ops_impl.h"
#include "backend/cuda/kernels/attention.h"
#include "backend/cuda/kernels/delta_net.h"
#include "backend/cuda/kernels/pack.h"
#include "backend/cuda/kernels/router.h"
#include "backend/cuda/kernels/rowwise.h"
#include "base/check.h"
#include "base/status.h"

namespace hearth {
namespace {

cuda::SequenceView sequences(const Batch& b) {
  return {b.positions.ptr<std::int32_t>(),
          b.seq_of_row.ptr<std::int32_t>(),
          b.cu_seqlens_q.ptr<std::int32_t>(),
          b.state_slots.ptr<std::int32_t>(),
          b.positions.dim(0),
          b.seq_lens.dim(0)};
}

}  // namespace

cuda::Rows rows_of(const Tensor& t) {
  auto* data = t.ptr<float>();
  if (t.rank <= 1) return {data, 1, t.dim(0), 0};
  if (t.rank == 2) return {data, 1, t.stride[0], 0};
  HEARTH_CHECK(t.rank == 3);
  return {data, t.dim(1), t.stride[0], t.stride[1]};
}

void CudaOps::embed(Tensor out, Tensor ids, const Matrix& table) {
  wrote(out);
  cuda::embed_rows(device_.stream(), out.ptr<float>(), cuda_matrix(table).view, ids.ptr<std::int32_t>(), ids.dim(0));
}
void CudaOps::rms_norm(Tensor out, Tensor x, Tensor w, float eps) {
  wrote(out);
  cuda::rms_norm(device_.stream(), rows_of(out), rows_of(x), w.ptr<float>(), x.rows(), x.dim(-1), eps);
}
void CudaOps::add_rms_norm(Tensor out, Tensor r, Tensor m, Tensor w, float eps) {
  wrote(out);
  wrote(r);
  const bool pack =
      out.rank == 2 && out.dim(1) % 128 == 0 && out.dim(1) > 512 && out.dim(1) <= 8192;  // what norms of rows can pack
  cuda::add_rms_norm(device_.stream(), out.ptr<float>(), r.ptr<float>(), m.ptr<float>(), w.ptr<float>(), r.rows(),
                     r.dim(-1), eps, pack ? pack_beside(0, out) : cuda::PackedRows{});
}
void CudaOps::add(Tensor x, Tensor y) {
  wrote(x);
  cuda::add(device_.stream(), x.ptr<float>(), y.ptr<float>(), x.size());
}
void CudaOps::silu_mul(Tensor out, Tensor gate, Tensor up) {
  wrote(out);
  cuda::silu_mul(device_.stream(), out.ptr<float>(), gate.ptr<float>(), up.ptr<float>(), out.size());
}
void CudaOps::sigmoid_mul(Tensor out, Tensor x, Tensor gate) {
  wrote(out);
  cuda::sigmoid_mul(device_.stream(), rows_of(out), rows_of(x), rows_of(gate), x.rows(), x.dim(-1));
}
void CudaOps::add_sigmoid_scaled(Tensor x, Tensor y, Tensor s) {
  wrote(x);
  cuda::add_sigmoid_scaled(device_.stream(), x.ptr<float>(), y.ptr<float>(), rows_of(s), x.dim(0), x.dim(1));
}
void CudaOps::gather_rows(Tensor out, Tensor x, Tensor rows) {
  wrote(out);
  cuda::gather_rows(device_.stream(), out.ptr<float>(), x.ptr<float>(), rows.ptr<std::int32_t>(), rows.dim(0),
                    x.dim(1));
}
void CudaOps::l2_norm(Tensor out, Tensor x, float eps, float scale) {
  wrote(out);
  cuda::l2_norm(device_.stream(), rows_of(out), rows_of(x), x.rows(), x.dim(-1), eps, scale);
}
void CudaOps::gated_rms_norm(Tensor out, Tensor x, Tensor z, Tensor w, float eps) {
  wrote(out);
  cuda::gated_rms_norm(device_.stream(), rows_of(out), rows_of(x), rows_of(z), w.ptr<float>(), x.rows(), x.dim(-1),
                       eps);
}

void CudaOps::rope(Tensor x, Tensor positions, Tensor inv_freq, RopeStyle style) {
  wrote(x);
  cuda::rope(device_.stream(), rows_of(x), positions.ptr<std::int32_t>(), inv_freq.ptr<float>(), x.dim(0), x.dim(1),
             inv_freq.dim(0), style == RopeStyle::adjacent);
}
void CudaOps::write_kv(const KvCache& cache, Tensor k, Tensor v, const Batch& batch) {
  const auto* slots = batch.slot_mapping.ptr<std::int32_t>();
  cuda::write_cache(device_.stream(), cache.k.data, cache.k.dtype, rows_of(k), slots, k.dim(0), k.dim(1), k.dim(2));
  cuda::write_cache(device_.stream(), cache.v.data, cache.v.dtype, rows_of(v), slots, v.dim(0), v.dim(1), v.dim(2));
}
void CudaOps::attention(Tensor out, Tensor q, const KvCache& cache, const Batch& batch, float scale) {
  wrote(out);
  cuda::AttendArgs a{};
  a.out = rows_of(out);
  a.q = rows_of(q);
  a.k = cache.k.data;
  a.v = cache.v.data;
  a.positions = batch.positions.ptr<std::int32_t>();
  a.seq_of_row = batch.seq_of_row.ptr<std::int32_t>();
  a.block_tables = batch.block_tables.ptr<std::int32_t>();
  a.T = q.dim(0);
  a.H = q.dim(1);
  a.K = q.dim(2);
  a.G = cache.k.dim(2);
  a.max_blocks = batch.block_tables.dim(1);
  a.block_tokens = batch.block_tokens;
  a.scale = scale;
  a.states = attention_.get<float>(*this, cuda::attend_scratch(a.T, a.H, a.max_blocks * a.block_tokens));
  cuda::attend(device_.stream(), a, cache.k.dtype);
}

void CudaOps::causal_conv1d(Tensor out, Tensor u, Tensor w, Tensor state, const Batch& batch) {
  wrote(out);
  cuda::causal_conv1d(device_.stream(), out.ptr<float>(), rows_of(u), w.ptr<float>(), state.ptr<float>(), u.dim(1),
                      sequences(batch));
}
void CudaOps::gdn_gates(Tensor g, Tensor beta, Tensor a, Tensor b, Tensor a_log, Tensor dt_bias) {
  wrote(g);
  wrote(beta);
  cuda::gdn_gates(device_.stream(), g.ptr<float>(), beta.ptr<float>(), rows_of(a), rows_of(b), a_log.ptr<float>(),
                  dt_bias.ptr<float>(), a.dim(0), a.dim(1));
}
void CudaOps::gated_delta_rule(Tensor y, Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, Tensor state, HeadMap map,
                               const Batch& batch) {
  wrote(y);
  cuda::DeltaArgs a{rows_of(y),         rows_of(q), rows_of(k), rows_of(v), rows_of(g), rows_of(beta),
                    state.ptr<float>(), q.dim(1),   v.dim(1),   q.dim(2),   v.dim(2),   map == HeadMap::tiled};
  cuda::gated_delta_rule(device_.stream(), a, sequences(batch));
}
bool CudaOps::delta_net_step(Tensor y, Tensor u, Tensor z, Tensor b, Tensor a, const DeltaNetParams& p,
                             Tensor conv_state, Tensor state, const Batch& batch) {
  const cuda::SequenceView s = sequences(batch);
  if (s.T != s.B || p.head_k_dim != 128 || p.head_v_dim != 128) return false;
  wrote(y);
  cuda::StepArgs args{};
  args.y = rows_of(y);
  args.z = rows_of(z);
  args.a = rows_of(a);
  args.b = rows_of(b);
  args.a_log = p.a_log.ptr<float>();
  args.dt_bias = p.dt_bias.ptr<float>();
  args.norm = p.norm.ptr<float>();
  args.state = state.ptr<float>();
  args.Hk = p.num_k_heads;
  args.Hv = p.num_v_heads;
  args.l2_eps = p.l2_eps;
  args.q_scale = p.q_scale;
  args.norm_eps = p.norm_eps;
  args.tiled = p.map == HeadMap::tiled;
  args.packed = pack_beside(1, y);
  cuda::delta_net_step(device_.stream(), args, rows_of(u), p.conv1d.ptr<float>(), conv_state.ptr<float>(),
                       conv_.get<float>(*this, s.T * u.dim(1)), s);
  return true;
}
void CudaOps::router_topk(Tensor weights, Tensor ids, Tensor logits, bool renormalise) {
  wrote(weights);
  wrote(ids);
  cuda::router_topk(device_.stream(), weights.ptr<float>(), ids.ptr<std::int32_t>(), rows_of(logits), logits.dim(0),
                    logits.dim(1), ids.dim(1), renormalise);
}

std::unique_ptr<Ops> make_cuda_ops(const CudaOptions& options) {
  if (const std::string why = cuda_unavailable(); !why.empty())
    throw StartupError("no usable GPU: " + why, "--device cuda", "use --device cpu, or install a driver for CUDA 13");
  return std::make_unique<CudaOps>(options);
}

}  // namespace hearth
