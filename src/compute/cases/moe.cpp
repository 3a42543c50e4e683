#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "compute/case_bench.h"

namespace hearth {
namespace {

double silu(double x) { return x / (1 + std::exp(-x)); }

std::vector<CaseOutput> run(Ops& ops, Format gate_format, Format down_format, std::int64_t T, std::int64_t D,
                            std::int64_t F, std::int64_t E, std::int64_t A, std::uint64_t seed) {
  CaseBench b(ops, seed);
  Experts experts;
  std::vector<CaseMatrix> gate, up, down;
  for (std::int64_t e = 0; e < E; ++e) {
    gate.push_back(b.matrix(gate_format, {F}, D));
    up.push_back(b.matrix(gate_format, {F}, D));
    down.push_back(b.matrix(down_format, {D}, F));
    experts.gate_proj.push_back(gate.back().m);
    experts.up_proj.push_back(up.back().m);
    experts.down_proj.push_back(down.back().m);
  }
  const Input x = b.normal({T, D});
  std::vector<float> weights;
  std::vector<std::int32_t> ids;
  for (std::int64_t t = 0; t < T; ++t) {
    std::vector<std::int32_t> order;
    for (std::int32_t e = 0; e < E; ++e) order.push_back(e);
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[b.rng.below(t == 0 ? 1 : i)]);
    for (std::int64_t a = 0; a < A; ++a) {
      ids.push_back(order[static_cast<std::size_t>(a)]);
      weights.push_back(static_cast<float>(b.rng.uniform()));
    }
  }
  const Input w = b.numbers({T, A}, weights);
  const Tensor id_tensor = b.ints({T, A}, ids);
  const Tensor out = b.out({T, D}), alone = b.out({T, D});
  ops.moe(out, x.t, w.t, id_tensor, experts);
  for (std::int64_t t = 0; t < T; ++t) {
    const auto row = [&](const Tensor& m) { return m.slice(0, t, t + 1); };
    ops.moe(row(alone), row(x.t), row(w.t), row(id_tensor), experts);
  }
  // What gate and up may be wrong by (product_bound) goes through silu (slope ≤ 1.1) and the product; down multiplies it by
  // |W| and adds its own; the weighted sum of A experts a few u more.
  std::vector<double> tolerance(static_cast<std::size_t>(T * D), 0.0);
  for (std::int64_t t = 0; t < T; ++t)
    for (std::int64_t a = 0; a < A; ++a) {
      const std::size_t at = static_cast<std::size_t>(t * A + a), e = static_cast<std::size_t>(ids[at]);
      const float* xt = x.v.data() + t * D;
      std::vector<float> act;
      std::vector<double> act_error;
      for (std::int64_t n = 0; n < F; ++n) {
        double g = 0, u = 0;
        for (std::int64_t i = 0; i < D; ++i)
          g += static_cast<double>(xt[i]) * gate[e].row(n)[i], u += static_cast<double>(xt[i]) * up[e].row(n)[i];
        const double eg = product_bound(xt, gate[e].row(n), D, gate[e].arithmetic);
        const double eu = product_bound(xt, up[e].row(n), D, up[e].arithmetic);
        act.push_back(static_cast<float>(silu(g) * u));
        act_error.push_back(1.1 * eg * (std::fabs(u) + eu) + std::fabs(silu(g)) * eu +
                            24 * kU * std::fabs(silu(g) * u));
      }
      for (std::int64_t n = 0; n < D; ++n) {
        double y = 0, error = product_bound(act.data(), down[e].row(n), F, down[e].arithmetic) * 1.01;
        for (std::int64_t i = 0; i < F; ++i) {
          const double v = static_cast<double>(down[e].row(n)[i]);
          y += act[static_cast<std::size_t>(i)] * v,
              error += act_error[static_cast<std::size_t>(i)] * std::fabs(v) * 1.02;
        }
        tolerance[static_cast<std::size_t>(t * D + n)] +=
            static_cast<double>(weights[at]) * (error + 16 * kU * std::fabs(y)) + 1e-30;
      }
    }
  return {{"out", b.read(out), tolerance}, same_bits("rows alone", b.read(out), b.read(alone))};
}

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  struct Size {
    std::int64_t T, D, F, E, A;
  };
  const std::pair<Format, Format> formats[] = {{Format::f32, Format::f32},         {Format::bf16, Format::bf16},
                                               {Format::f8_e4m3, Format::f8_e4m3}, {Format::q8_0, Format::q8_0},
                                               {Format::q4_0, Format::q4_0},       {Format::q4_k, Format::q6_k}};
  for (const auto& [gate, down] : formats) {
    const bool k_quant = format_info(gate).block_elems == 256;
    const Size sizes[] = {
        {1, k_quant ? 256 : 128, k_quant ? 256 : 64, 8, 2}, {33, 256, k_quant ? 256 : 96, 8, 2}, {5, 256, 256, 16, 8}};
    for (const Size& s : sizes)
      list.push_back({fmt::format("moe {}/{} T={} D={} F={} E={} A={}", format_info(gate).name, format_info(down).name,
                                  s.T, s.D, s.F, s.E, s.A),
                      [=, gate = gate, down = down](Ops& ops) {
                        return run(ops, gate, down, s.T, s.D, s.F, s.E, s.A,
                                   mix64(seed + static_cast<std::uint64_t>(s.T)));
                      }});
  }
}

}  // namespace

extern const OpCases cases_moe;
const OpCases cases_moe{"moe", add};

}  // namespace hearth
