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
void CpuOps::moe(Tensor out, Tensor x, Tensor weights, Tensor ids, const Experts& experts) {
  constexpr std::int64_t kRows = 4096;
  const std::int64_t T = x.dim(0), D = x.dim(1), A = ids.dim(1);
  const auto E = static_cast<std::int64_t>(experts.gate_proj.size());
  const std::int64_t F = experts.gate_proj.front().rows;
  struct Pair {
    std::int32_t expert;
    std::int32_t token;
    float weight;
  };
  std::vector<Pair> pairs;
  std::vector<std::int64_t> begin;    // pairs of expert e: [begin[e], begin[e + 1])
  std::vector<std::int64_t> pair_of;  // of token t, ascending expert id
  std::vector<float*> gate_rows, up_rows, down_rows;
  std::vector<const void*> x_rows, hidden_rows;
  std::vector<GemmJob> jobs;
  const std::int64_t group = std::max<std::int64_t>(1, kRows / A);

  for (std::int64_t t0 = 0; t0 < T; t0 += group) {
    const std::int64_t t1 = std::min(T, t0 + group), n = (t1 - t0) * A;
    pairs.clear();
    for (std::int64_t t = t0; t < t1; ++t)
      for (std::int64_t a = 0; a < A; ++a)
        pairs.push_back({ids.row<std::int32_t>(t)[a], static_cast<std::int32_t>(t), weights.row<float>(t)[a]});
    std::stable_sort(pairs.begin(), pairs.end(), [](const Pair& a, const Pair& b) { return a.expert < b.expert; });
    begin.assign(static_cast<std::size_t>(E) + 1, 0);
    for (const Pair& p : pairs) ++begin[static_cast<std::size_t>(p.expert) + 1];
    for (std::size_t e = 0; e < static_cast<std::size_t>(E); ++e) begin[e + 1] += begin[e];

    float* gate = moe_values_.get<float>(*device_, static_cast<std::size_t>(n * (2 * F + D)));
    float *up = gate + n * F, *down = up + n * F;
    gate_rows.resize(static_cast<std::size_t>(n));
    up_rows.resize(static_cast<std::size_t>(n));
    down_rows.resize(static_cast<std::size_t>(n));
    x_rows.resize(static_cast<std::size_t>(n));
    hidden_rows.resize(static_cast<std::size_t>(n));

    // Rows of x, quantised once a token where an expert wants that.
    const auto wants_bytes = [&](const std::vector<Matrix>& ms) { return !is_float(packed(ms.front()).layout); };
    std::vector<const float*> token_rows;
    for (std::int64_t t = t0; t < t1; ++t) token_rows.push_back(x.row<float>(t));
    const std::byte* xq = wants_bytes(experts.gate_proj) || wants_bytes(experts.up_proj)
                              ? quantize_rows(x_quantized_, token_rows.data(), t1 - t0, D)
                              : nullptr;
    std::vector<const void*> xq_rows(static_cast<std::size_t>(n));
    for (std::int64_t i = 0; i < n; ++i) {
      const auto at = static_cast<std::size_t>(i);
      const std::int64_t t = pairs[at].token;
      x_rows[at] = x.row<float>(t);
      if (xq != nullptr) xq_rows[at] = xq + static_cast<std::size_t>(t - t0) * q_stride(D);
      gate_rows[at] = gate + i * F;
      up_rows[at] = up + i * F;
      down_rows[at] = down + i * D;
    }
    jobs.clear();
    const auto push = [&](const Matrix& m, const void* const* floats, const void* const* bytes, float* const* to,
                          std::int64_t e) {
      const std::int64_t b = begin[static_cast<std::size_t>(e)], rows = begin[static_cast<std::size_t>(e) + 1] - b;
      if (rows == 0) return;
      const PackedMatrix& w = packed(m);
      jobs.push_back({&w, (is_float(w.layout) ? floats : bytes) + b, to + b, rows, nullptr});
    };
    for (std::int64_t e = 0; e < E; ++e) {
      push(experts.gate_proj[static_cast<std::size_t>(e)], x_rows.data(), xq_rows.data(), gate_rows.data(), e);
      push(experts.up_proj[static_cast<std::size_t>(e)], x_rows.data(), xq_rows.data(), up_rows.data(), e);
    }
    run_jobs(jobs);
    each(n, 4 * F, [&](std::int64_t i) { kernels_.silu_mul(gate + i * F, gate + i * F, up + i * F, F); });
    for (std::int64_t i = 0; i < n; ++i) hidden_rows[static_cast<std::size_t>(i)] = gate + i * F;
    if (wants_bytes(experts.down_proj)) {
      const std::byte* hq =
          quantize_rows(moe_quantized_, reinterpret_cast<const float* const*>(hidden_rows.data()), n, F);
      for (std::int64_t i = 0; i < n; ++i)
        xq_rows[static_cast<std::size_t>(i)] = hq + static_cast<std::size_t>(i) * q_stride(F);
    }
    jobs.clear();
    for (std::int64_t e = 0; e < E; ++e)
      push(experts.down_proj[static_cast<std::size_t>(e)], hidden_rows.data(), xq_rows.data(), down_rows.data(), e);
    run_jobs(jobs);

    // Pairs are sorted by expert, so each token meets its own in ascending order.
    pair_of.assign(static_cast<std::size_t>(n), 0);
    std::vector<std::int64_t> filled(static_cast<std::size_t>(t1 - t0), 0);
    for (std::int64_t i = 0; i < n; ++i) {
      const std::int64_t t = pairs[static_cast<std::size_t>(i)].token - t0;
      pair_of[static_cast<std::size_t>(t * A + filled[static_cast<std::size_t>(t)]++)] = i;
    }
    each(t1 - t0, A * D, [&](std::int64_t t) {
      float* row = out.row<float>(t0 + t);
      std::fill_n(row, D, 0.0f);
      for (std::int64_t a = 0; a < A; ++a) {
        const std::int64_t i = pair_of[static_cast<std::size_t>(t * A + a)];
        kernels_.add_scaled(row, down + i * D, pairs[static_cast<std::size_t>(i)].weight, D);
      }
    });
  }
}

}  // namespace hearth
