#include <algorithm>
#include <limits>
#include <vector>

#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"

namespace hearth {

void RefOps::attention(Tensor out, Tensor q, const KvCache& cache, const Batch& batch, float scale) {
  const std::int64_t H = q.dim(1), K = q.dim(2), G = cache.k.dim(2), N = batch.block_tokens;
  std::vector<double> p;
  for (std::int64_t t = 0; t < q.dim(0); ++t) {
    const std::int64_t b = batch.seq_of_row.ptr<std::int32_t>()[t];
    const std::int64_t length = batch.positions.ptr<std::int32_t>()[t] + 1;  // causal: positions 0 … its own
    const std::int32_t* blocks = batch.block_tables.row<std::int32_t>(b);
    for (std::int64_t h = 0; h < H; ++h) {
      const std::int64_t g = h / (H / G);
      // Offset of position s, KV head g, in the cache [P, N, G, K].
      const auto offset = [&](std::int64_t s) { return ((blocks[s / N] * N + s % N) * G + g) * K; };
      p.assign(static_cast<std::size_t>(length), 0.0);
      double largest = -std::numeric_limits<double>::infinity();
      for (std::int64_t s = 0; s < length; ++s) {
        double score = 0;
        for (std::int64_t i = 0; i < K; ++i)
          score += static_cast<double>(q.row<float>(t, h)[i]) * load_number(cache.k, offset(s) + i);
        p[static_cast<std::size_t>(s)] = score * scale;
        largest = std::max(largest, score * scale);
      }
      double sum = 0;
      for (double& e : p) sum += e = std::exp(e - largest);
      std::vector<double> o(static_cast<std::size_t>(K), 0.0);
      for (std::int64_t s = 0; s < length; ++s)
        for (std::int64_t i = 0; i < K; ++i)
          o[static_cast<std::size_t>(i)] += p[static_cast<std::size_t>(s)] / sum * load_number(cache.v, offset(s) + i);
      for (std::int64_t i = 0; i < K; ++i) out.row<float>(t, h)[i] = static_cast<float>(o[static_cast<std::size_t>(i)]);
    }
  }
}

}  // namespace hearth
