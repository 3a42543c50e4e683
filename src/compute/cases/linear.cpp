#include <fmt/format.h>

#include "compute/case_bench.h"

namespace hearth {
namespace {

struct Size {
  std::int64_t T, K;
  std::vector<std::int64_t> parts;  // rows of the stacked parts; N is their sum
};

// One product whole, then each row alone: a row must not depend on its neighbours.
std::vector<CaseOutput> run(Ops& ops, Format format, const Size& size, bool with_bias, std::uint64_t seed) {
  CaseBench b(ops, seed);
  const CaseMatrix w = b.matrix(format, size.parts, size.K);
  const Input x = b.normal({size.T, size.K});
  const Input bias = b.normal({w.rows});
  const Tensor null;
  const Tensor out = b.out({size.T, w.rows}), alone = b.out({size.T, w.rows});
  ops.linear(out, x.t, w.m, with_bias ? bias.t : null);
  for (std::int64_t t = 0; t < size.T; ++t)
    ops.linear(alone.slice(0, t, t + 1), x.t.slice(0, t, t + 1), w.m, with_bias ? bias.t : null);
  std::vector<double> tolerance = linear_bound(x.v, w, size.T);
  if (with_bias)
    for (std::size_t i = 0; i < tolerance.size(); ++i)
      tolerance[i] += 2 * kU * (std::fabs(static_cast<double>(bias.v[i % bias.v.size()])) + 1);
  return {{"out", b.read(out), tolerance}, same_bits("rows alone", b.read(out), b.read(alone))};
}

std::vector<CaseOutput> run_many(Ops& ops, Format first, Format second, std::uint64_t seed) {
  CaseBench b(ops, seed);
  const std::int64_t T = 3, K = 512;
  const CaseMatrix ws[] = {b.matrix(first, {130}, K), b.matrix(second, {1}, K), b.matrix(first, {64}, K)};
  const Input x = b.normal({T, K}), bias = b.normal({64});
  const Tensor outs[] = {b.out({T, 130}), b.out({T, 1}), b.out({T, 64})};
  const Matrix* const matrices[] = {&ws[0].m, &ws[1].m, &ws[2].m};
  const Tensor biases[] = {Tensor{}, Tensor{}, bias.t};
  ops.linear_many(outs, x.t, matrices, biases);
  std::vector<CaseOutput> result;
  for (std::size_t i = 0; i < 3; ++i) {
    std::vector<double> tolerance = linear_bound(x.v, ws[i], T);
    for (double& e : tolerance) e += i == 2 ? 8 * kU : 0;  // the bias: two more roundings of numbers below 4
    const Tensor alone = b.out({T, ws[i].rows});
    ops.linear(alone, x.t, ws[i].m, biases[i]);
    result.push_back({fmt::format("outs[{}]", i), b.read(outs[i]), tolerance});
    result.push_back(same_bits(fmt::format("outs[{}] against linear", i), b.read(outs[i]), b.read(alone)));
  }
  return result;
}

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  for (int f = 0; f < kNumFormats; ++f) {
    const FormatInfo& info = format_info(static_cast<Format>(f));
    if (!info.is_float_weight || info.format == Format::f64 || info.format == Format::f8_e5m2) continue;
    // Rows: one, a few, and enough for a blocked kernel with a rest. Columns: ragged against 128 and against vectors where
    // the format allows it.
    std::vector<Size> sizes;
    if (info.block_elems == 1)
      sizes = {{1, 40, {5}}, {3, 160, {130}}, {17, 300, {96}}, {70, 256, {70}}, {2, 256, {64, 130, 6}}};
    else if (info.block_elems == 32)
      sizes = {{1, 64, {5}}, {3, 96, {130}}, {17, 576, {96}}, {70, 256, {70}}, {2, 256, {64, 130, 6}}};
    else
      sizes = {{1, 256, {5}}, {3, 512, {130}}, {17, 768, {96}}, {70, 256, {70}}, {2, 256, {64, 130, 6}}};
    for (std::size_t i = 0; i < sizes.size(); ++i)
      for (const bool with_bias : {false, true})
        list.push_back({fmt::format("linear {} T={} N={} K={} parts={} bias={}", info.name, sizes[i].T,
                                    fmt::join(sizes[i].parts, "+"), sizes[i].K, sizes[i].parts.size(), with_bias),
                        [=, size = sizes[i], format = info.format](Ops& ops) {
                          return run(ops, format, size, with_bias,
                                     mix64(seed + static_cast<std::uint64_t>(f) * 64 + i));
                        }});
  }
  for (const auto& [first, second] : {std::pair{Format::bf16, Format::f32},
                                      {Format::f8_e4m3, Format::bf16},
                                      {Format::q4_k, Format::q6_k},
                                      {Format::q8_0, Format::f32},
                                      {Format::q4_1, Format::q4_1}})
    list.push_back(
        {fmt::format("linear_many {} and {}", format_info(first).name, format_info(second).name),
         [=, first = first, second = second](Ops& ops) { return run_many(ops, first, second, mix64(seed)); }});
}

}  // namespace

extern const OpCases cases_linear;
const OpCases cases_linear{"linear", add};

}  // namespace hearth
