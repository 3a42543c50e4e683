// router_topk and moe.
#include <algorithm>

#include "backend/cpu/cpu_ops_impl.h"

namespace hearth {

void CpuOps::router_topk(Tensor weights, Tensor ids, Tensor logits, bool renormalise) {
  const std::int64_t E = logits.dim(1), A = ids.dim(1);
  each(logits.dim(0), E * (A + 4), [&](std::int64_t t) {
    constexpr std::int64_t kMaxExperts = 4096;
    HEARTH_CHECK_LE(E, kMaxExperts);
    float e[kMaxExperts];
    const float* x = logits.row<float>(t);
    std::int32_t* id = ids.row<std::int32_t>(t);
    float* out = weights.row<float>(t);
    bool taken[kMaxExperts] = {};
    for (std::int64_t a = 0; a < A; ++a) {
      std::int64_t best = -1;
      for (std::int64_t i = 0; i < E; ++i)
        if (!taken[i] && (best < 0 || x[i] > x[best])) best = i;
      taken[best] = true;
      id[a] = static_cast<std::int32_t>(best);
    }
    const float all = kernels_.exp_row(e, x, x[id[0]], E);
    float chosen = 0;
    for (std::int64_t a = 0; a < A; ++a) chosen += e[id[a]];
    for (std::int64_t a = 0; a < A; ++a) out[a] = e[id[a]] / (renormalise ? chosen : all);
  });
}

// Tokens go in groups of at most kRows (token, expert) pairs. Within a group the pairs are sorted by expert, so that an
// expert's matrices are read once for all its tokens; a pair's numbers do not depend on its neighbours.
namespace {

constexpr std::int64_t kRows = 4096;

struct Pair {
  std::int32_t expert;
  std::int32_t token;
  float weight;
};

struct MoeScratch {
  Pair* pairs;
  std::int64_t *begin, *next, *filled, *pair_of;
  float *gate, *up, *down, **gate_rows, **up_rows, **down_rows;
  const float **token_rows, **hidden_rows;
  const void **x_rows, **xq_rows;
  std::byte *xq, *hq;
  GemmJob* jobs;
  std::int64_t* job_end;
  MoeScratch(Arena& a, std::int64_t tokens, std::int64_t A, std::int64_t D, std::int64_t F, std::int64_t E,
             bool quantized_x, bool quantized_hidden) {
    const std::int64_t n = tokens * A;
    const auto bytes = [](std::int64_t cols) { return static_cast<std::int64_t>(q_stride(cols)); };
    pairs = a.take<Pair>(n);
    begin = a.take<std::int64_t>(E + 1);    // pairs of expert e: [begin[e], begin[e + 1])
    next = a.take<std::int64_t>(E);         // where the next pair of expert e goes
    filled = a.take<std::int64_t>(tokens);  // pairs of a token that pair_of has
    pair_of = a.take<std::int64_t>(n);      // of token t, ascending expert id
    gate = a.take<float>(n * F);
    up = a.take<float>(n * F);
    down = a.take<float>(n * D);
    gate_rows = a.take<float*>(n);
    up_rows = a.take<float*>(n);
    down_rows = a.take<float*>(n);
    token_rows = a.take<const float*>(tokens);
    hidden_rows = a.take<const float*>(n);
    x_rows = a.take<const void*>(n);
    xq_rows = a.take<const void*>(n);
    xq = quantized_x ? a.take<std::byte>(tokens * bytes(D)) : nullptr;
    hq = quantized_hidden ? a.take<std::byte>(n * bytes(F)) : nullptr;
    jobs = a.take<GemmJob>(2 * std::min(E, n));
    job_end = a.take<std::int64_t>(2 * std::min(E, n));
  }
};

std::int64_t group_tokens(std::int64_t active_experts) { return std::max<std::int64_t>(1, kRows / active_experts); }

}  // namespace

std::size_t moe_scratch_bytes(const StepShape& s, bool quantized) {
  if (s.active_experts == 0) return 0;
  return Workspace::bytes_of<MoeScratch>(std::min(s.tokens, group_tokens(s.active_experts)), s.active_experts,
                                         s.moe_hidden, s.expert_width, s.experts, quantized, quantized);
}

void CpuOps::moe(Tensor out, Tensor x, Tensor weights, Tensor ids, const Experts& experts) {
  const std::int64_t T = x.dim(0), D = x.dim(1), A = ids.dim(1);
  const auto E = static_cast<std::int64_t>(experts.gate_proj.size());
  const std::int64_t F = experts.gate_proj.front().rows;
  const auto wants_bytes = [](const std::vector<Matrix>& ms) { return !is_float(packed(ms.front()).layout); };
  const bool quantized_x = wants_bytes(experts.gate_proj) || wants_bytes(experts.up_proj);
  const bool quantized_hidden = wants_bytes(experts.down_proj);
  const std::int64_t group = group_tokens(A);

  for (std::int64_t t0 = 0; t0 < T; t0 += group) {
    const std::int64_t t1 = std::min(T, t0 + group), n = (t1 - t0) * A;
    const auto s = workspace_.lay_out<MoeScratch>(t1 - t0, A, D, F, E, quantized_x, quantized_hidden);
    std::fill_n(s.begin, E + 1, 0);
    for (std::int64_t t = t0; t < t1; ++t)
      for (std::int64_t a = 0; a < A; ++a) ++s.begin[ids.row<std::int32_t>(t)[a] + 1];
    for (std::int64_t e = 0; e < E; ++e) s.begin[e + 1] += s.begin[e];
    std::copy_n(s.begin, E, s.next);
    for (std::int64_t t = t0; t < t1; ++t)
      for (std::int64_t a = 0; a < A; ++a) {
        const std::int32_t e = ids.row<std::int32_t>(t)[a];
        s.pairs[s.next[e]++] = {e, static_cast<std::int32_t>(t), weights.row<float>(t)[a]};
      }

    // Rows of x, quantised once a token where an expert wants that.
    for (std::int64_t t = t0; t < t1; ++t) s.token_rows[t - t0] = x.row<float>(t);
    if (quantized_x) quantize_rows(s.xq, s.token_rows, t1 - t0, D);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t t = s.pairs[i].token;
      s.x_rows[i] = x.row<float>(t);
      s.xq_rows[i] = quantized_x ? s.xq + static_cast<std::size_t>(t - t0) * q_stride(D) : nullptr;
      s.gate_rows[i] = s.gate + i * F;
      s.up_rows[i] = s.up + i * F;
      s.down_rows[i] = s.down + i * D;
      s.hidden_rows[i] = s.gate_rows[i];
    }
    std::size_t num_jobs = 0;
    const auto push = [&](const Matrix& m, const void* const* floats, float* const* to, std::int64_t e) {
      const std::int64_t b = s.begin[e], rows = s.begin[e + 1] - b;
      if (rows == 0) return;
      const PackedMatrix& w = packed(m);
      s.jobs[num_jobs++] = {&w, (is_float(w.layout) ? floats : s.xq_rows) + b, to + b, rows, nullptr};
    };
    for (std::int64_t e = 0; e < E; ++e) {
      push(experts.gate_proj[static_cast<std::size_t>(e)], s.x_rows, s.gate_rows, e);
      push(experts.up_proj[static_cast<std::size_t>(e)], s.x_rows, s.up_rows, e);
    }
    run_jobs({s.jobs, num_jobs}, s.job_end);
    each(n, 4 * F, [&](std::int64_t i) { kernels_.silu_mul(s.gate_rows[i], s.gate_rows[i], s.up_rows[i], F); });
    if (quantized_hidden) {
      quantize_rows(s.hq, s.hidden_rows, n, F);
      for (std::int64_t i = 0; i < n; ++i) s.xq_rows[i] = s.hq + static_cast<std::size_t>(i) * q_stride(F);
    }
    num_jobs = 0;
    for (std::int64_t e = 0; e < E; ++e)
      push(experts.down_proj[static_cast<std::size_t>(e)], reinterpret_cast<const void* const*>(s.hidden_rows),
           s.down_rows, e);
    run_jobs({s.jobs, num_jobs}, s.job_end);

    // Pairs are sorted by expert, so each token meets its own in ascending order.
    std::fill_n(s.filled, t1 - t0, 0);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t t = s.pairs[i].token - t0;
      s.pair_of[t * A + s.filled[t]++] = i;
    }
    each(t1 - t0, A * D, [&](std::int64_t t) {
      float* row = out.row<float>(t0 + t);
      std::fill_n(row, D, 0.0f);
      for (std::int64_t a = 0; a < A; ++a) {
        const std::int64_t i = s.pair_of[t * A + a];
        kernels_.add_scaled(row, s.down_rows[i], s.pairs[i].weight, D);
      }
    });
  }
}

}  // namespace hearth
