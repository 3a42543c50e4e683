#include <algorithm>
#include <limits>

#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"
#include "backend/ref/scratch.h"

namespace hearth {

void RefOps::attention(Tensor out, Tensor q, const KvCache& cache, const Batch& batch, float scale) {
  const std::int64_t H = q.dim(1), K = q.dim(2), G = cache.k.dim(2), N = batch.block_tokens;
  for (std::int64_t t = 0; t < q.dim(0); ++t) {
    const std::int64_t b = batch.seq_of_row.ptr<std::int32_t>()[t];
    const std::int64_t length = batch.positions.ptr<std::int32_t>()[t] + 1;  // causal: positions 0 … its own
    const std::int32_t* blocks = batch.block_tables.row<std::int32_t>(b);
    const auto [p, o] = workspace_.lay_out<ScoreScratch>(length, K);
    for (std::int64_t h = 0; h < H; ++h) {
      const std::int64_t g = h / (H / G);
      // Offset of position s, KV head g, in the cache [P, N, G, K].
      const auto offset = [&](std::int64_t s) { return ((blocks[s / N] * N + s % N) * G + g) * K; };
      double largest = -std::numeric_limits<double>::infinity();
      for (std::int64_t s = 0; s < length; ++s) {
        double score = 0;
        for (std::int64_t i = 0; i < K; ++i)
          score += static_cast<double>(q.row<float>(t, h)[i]) * load_number(cache.k, offset(s) + i);
        p[s] = score * scale;
        largest = std::max(largest, score * scale);
      }
      double sum = 0;
      for (std::int64_t s = 0; s < length; ++s) sum += p[s] = std::exp(p[s] - largest);
      std::fill_n(o, K, 0.0);
      for (std::int64_t s = 0; s < length; ++s)
        for (std::int64_t i = 0; i < K; ++i) o[i] += p[s] / sum * load_number(cache.v, offset(s) + i);
      for (std::int64_t i = 0; i < K; ++i) out.row<float>(t, h)[i] = static_cast<float>(o[i]);
    }
  }
}

}  // namespace hearth
