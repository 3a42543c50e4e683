#include <fmt/format.h>

#include "compute/case_bench.h"

namespace hearth {
namespace {

std::vector<CaseOutput> run(Ops& ops, CaseBench& b, const Input& logits, std::int64_t A, bool renormalise) {
  const std::int64_t T = logits.t.dim(0), E = logits.t.dim(1);
  const Tensor weights = b.out({T, A}), ids = b.out_ints({T, A});
  ops.router_topk(weights, ids, logits.t, renormalise);
  const std::vector<float> w = b.read(weights), i = b.read(ids);
  // exp of a difference below 16 (its own rounding: 16 u), and a sum of E positive terms.
  return {{"ids", i, exactly(i.size())}, {"weights", w, relative(w, static_cast<double>(E) + 40)}};
}

void add(std::vector<OpCase>& list, std::uint64_t seed) {
  const std::int64_t shapes[][3] = {{1, 8, 2}, {65, 8, 2}, {5, 256, 8}, {3, 512, 10}, {4, 6, 6}};
  for (const auto& [T, E, A] : shapes)
    for (const bool renormalise : {true, false})
      list.push_back({fmt::format("router_topk T={} E={} A={} renormalise={}", T, E, A, renormalise),
                      [=, T = T, E = E, A = A](Ops& ops) {
                        CaseBench b(ops, mix64(seed + static_cast<std::uint64_t>(T * 1000 + E)));
                        const Input logits = b.normal({T, E}, 2.0);
                        return run(ops, b, logits, A, renormalise);
                      }});
  list.push_back({"router_topk ties: the lower index wins", [=](Ops& ops) {
                    CaseBench b(ops, seed);
                    const Input logits = b.numbers({2, 8}, {1, 1, 1, 1, 1, 1, 1, 1, 0, 3, 2, 3, 2, 3, 2, -1});
                    return run(ops, b, logits, 4, true);
                  }});
  list.push_back({"router_topk far apart", [=](Ops& ops) {
                    CaseBench b(ops, seed);
                    const Input logits = b.numbers({1, 4}, {-500, 700, 0, 690});
                    return run(ops, b, logits, 2, true);
                  }});
}

}  // namespace

extern const OpCases cases_router_topk;
const OpCases cases_router_topk{"router_topk", add};

}  // namespace hearth
