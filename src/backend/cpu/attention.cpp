// write_kv and attention over the paged cache.
//
// A query's positions are cut at multiples of kSpan; each span is an online softmax over blocks of 64 positions, and the
// spans are joined in ascending order. The cuts are absolute, so a row's result is the same alone, in a batch, in a chunk
// of a prompt, and whichever threads compute its spans.
#include <algorithm>
#include <limits>

#include "backend/cpu/cpu_ops_impl.h"

namespace hearth {
namespace {

constexpr std::int64_t kSpan = 512;  // a multiple of kAttendBlock
// Queries that share the pass over a block of k and v: with the block (32 kB at width 64) they fit the first-level cache.
constexpr std::int64_t kTileQueries = 24;

const std::byte* cache_row(const Tensor& cache, std::int64_t slot, std::int64_t g) {
  return cache.ptr<std::byte>() + (slot * cache.dim(2) + g) * cache.dim(3) * dtype_bytes(cache.dtype);
}

constexpr std::int64_t kMaxQueries = 256;        // of one kernel call
constexpr std::int64_t kSplitNumbers = 4 << 20;  // at most 16 MiB of states that wait

// Rows [begin, end) of one sequence.
struct Tile {
  std::int64_t sequence, begin, end;
};

struct AttentionScratch {
  Tile* tiles;
  float* states;
  AttentionScratch(Arena& a, std::int64_t num_tiles, std::int64_t numbers)
      : tiles(a.take<Tile>(num_tiles)), states(a.take<float>(numbers)) {}
};

std::int64_t rows_of_tile(std::int64_t heads) { return std::max<std::int64_t>(1, kTileQueries / heads); }
std::int64_t state_numbers(std::int64_t head_dim) { return (head_dim + 15) / 16 * 16 + 16; }  // of one query
std::int64_t block_numbers(std::int64_t head_dim, bool convert) { return convert ? 2 * kAttendBlock * head_dim : 0; }

// Tiles times KV heads below this many a thread are cut into spans.
constexpr std::int64_t kFewTiles = 4;

}  // namespace

std::size_t attention_scratch_bytes(const StepShape& s, int threads) {
  if (s.head_dim == 0) return 0;
  const std::int64_t tile_rows = rows_of_tile(s.heads_per_kv_head), state = state_numbers(s.head_dim);
  const std::int64_t queries = std::max(kTileQueries, s.heads_per_kv_head), max_spans = (s.context + kSpan - 1) / kSpan;
  const std::int64_t num_tiles = std::min(s.tokens, s.tokens / tile_rows + s.sequences);
  const std::int64_t whole = threads * 2 * queries * state;
  const std::int64_t split =
      max_spans > 1 ? std::min(kSplitNumbers, kFewTiles * threads * max_spans * queries * state) : 0;
  return Workspace::bytes_of<AttentionScratch>(
      num_tiles, std::max(whole, split) + threads * block_numbers(s.head_dim, s.narrow_kv));
}

void CpuOps::write_kv(const KvCache& cache, Tensor k, Tensor v, const Batch& batch) {
  const std::int64_t n = k.dim(1) * k.dim(2);
  const auto write = [&](const Tensor& to, const Tensor& from, std::int64_t t) {
    const std::int64_t slot = batch.slot_mapping.ptr<std::int32_t>()[t];
    for (std::int64_t g = 0; g < from.dim(1); ++g)
      kernels_.narrow(const_cast<std::byte*>(cache_row(to, slot, g)), to.dtype, from.row<float>(t, g), from.dim(2));
  };
  each(k.dim(0), 2 * n, [&](std::int64_t t) {
    write(cache.k, k, t);
    write(cache.v, v, t);
  });
}

void CpuOps::attention(Tensor out, Tensor q, const KvCache& cache, const Batch& batch, float scale) {
  const std::int64_t H = q.dim(1), K = q.dim(2), G = cache.k.dim(2), N = batch.block_tokens;
  const std::int64_t heads = H / G, state = state_numbers(K), width = state - 16;
  const auto* positions = batch.positions.ptr<std::int32_t>();
  const auto* cu = batch.cu_seqlens_q.ptr<std::int32_t>();
  const std::int64_t B = batch.seq_lens.dim(0);

  const std::int64_t tile_rows = rows_of_tile(heads);
  std::int64_t num_tiles = 0, longest = 0, most_rows = 0;
  for (std::int64_t b = 0; b < B; ++b) {
    const std::int64_t rows = cu[b + 1] - cu[b];
    if (rows == 0) continue;
    num_tiles += (rows + tile_rows - 1) / tile_rows;
    longest = std::max<std::int64_t>(longest, positions[cu[b + 1] - 1] + 1);
    most_rows = std::max(most_rows, std::min(rows, tile_rows));
  }
  if (num_tiles == 0) return;
  const std::int64_t queries = most_rows * heads;

  constexpr std::int64_t kRowsAhead = 8;  // positions of the same page, most often
  const std::int64_t row_bytes = K * dtype_bytes(cache.k.dtype), slot_bytes = G * row_bytes;

  // Few tiles and long contexts: a thread takes one span of a tile, whose states wait to be joined. Otherwise all spans of a
  // tile, one after the other.
  const std::int64_t max_spans = (longest + kSpan - 1) / kSpan;
  const bool split = max_spans > 1 && num_tiles * G < kFewTiles * pool_.size() &&
                     num_tiles * G * max_spans * queries * state <= kSplitNumbers;
  const std::int64_t spans = split ? max_spans : 1, items = num_tiles * G * spans;

  // Scratch: per item the state of its queries, or per thread two of them; per thread one widened block of k and v.
  const bool convert = cache.k.dtype != DType::f32;
  const std::int64_t per_thread = queries * state * (split ? 0 : 2) + block_numbers(K, convert);
  const std::int64_t per_item = split ? queries * state : 0;
  const auto space = workspace_.lay_out<AttentionScratch>(num_tiles, per_thread * pool_.size() + per_item * items);
  float* scratch = space.states;
  float* item_states = scratch + per_thread * pool_.size();
  Tile* tiles = space.tiles;
  for (std::int64_t b = 0; b < B; ++b)
    for (std::int64_t t = cu[b]; t < cu[b + 1]; t += tile_rows)
      *tiles++ = {b, t, std::min<std::int64_t>(t + tile_rows, cu[b + 1])};
  tiles = space.tiles;

  const auto clear = [&](float* states, std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i) {
      std::fill_n(states + i * state, width, 0.0f);
      states[i * state + width] = -std::numeric_limits<float>::infinity();
      states[i * state + width + 1] = 0;
    }
  };

  // The online softmax of a tile's queries over positions [s0, s1) of KV head g.
  const auto attend_span = [&](const Tile& tile, std::int64_t g, std::int64_t s0, std::int64_t s1, float* states,
                               float* block) {
    const std::int32_t* table = batch.block_tables.row<std::int32_t>(tile.sequence);
    const float *k[kAttendBlock], *v[kAttendBlock];
    AttendQuery query[kMaxQueries];
    for (std::int64_t s = s0; s < s1; s += kAttendBlock) {
      const std::int64_t n = std::min(kAttendBlock, s1 - s);
      std::int64_t page = s / N,
                   offset = s % N;  // counted along: two divisions a position would cost more than its scores
      for (std::int64_t j = 0; j < n; ++j) {
        const std::int64_t slot = table[page] * N + offset;
        const std::byte *kj = cache_row(cache.k, slot, g), *vj = cache_row(cache.v, slot, g);
        for (std::int64_t line = 0; line < row_bytes; line += 64) {  // rows of a head lie apart: no stream to follow
          __builtin_prefetch(kj + kRowsAhead * slot_bytes + line);
          __builtin_prefetch(vj + kRowsAhead * slot_bytes + line);
        }
        if (++offset == N) ++page, offset = 0;
        if (convert) {
          kernels_.widen(block + j * K, kj, cache.k.dtype, K);
          kernels_.widen(block + (kAttendBlock + j) * K, vj, cache.v.dtype, K);
          k[j] = block + j * K;
          v[j] = block + (kAttendBlock + j) * K;
        } else {
          k[j] = reinterpret_cast<const float*>(kj);
          v[j] = reinterpret_cast<const float*>(vj);
        }
      }
      std::int64_t count = 0;
      const auto flush = [&] {
        kernels_.attend(query, count, k, v, K, scale);
        count = 0;
      };
      for (std::int64_t t = tile.begin; t < tile.end; ++t)
        for (std::int64_t h = 0; h < heads; ++h) {
          float* own = states + ((t - tile.begin) * heads + h) * state;
          query[count++] = {q.row<float>(t, g * heads + h), own, own + width,
                            std::min<std::int64_t>(n, positions[t] + 1 - s)};
          if (count == kMaxQueries) flush();
        }
      if (count > 0) flush();
    }
  };
  // total ← total joined with part, for the queries that see the span beginning at s0.
  const auto join = [&](const Tile& tile, std::int64_t s0, float* total, const float* part) {
    for (std::int64_t t = tile.begin; t < tile.end; ++t) {
      if (positions[t] < s0) continue;
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t at = ((t - tile.begin) * heads + h) * state;
        kernels_.attend_merge(total + at, total + at + width, part + at, part + at + width, width);
      }
    }
  };
  const auto finish = [&](const Tile& tile, std::int64_t g, const float* states) {
    for (std::int64_t t = tile.begin; t < tile.end; ++t)
      for (std::int64_t h = 0; h < heads; ++h) {
        const float* own = states + ((t - tile.begin) * heads + h) * state;
        kernels_.attend_finish(out.row<float>(t, g * heads + h), own, own + width, K);
      }
  };
  const auto length = [&](const Tile& tile) -> std::int64_t { return positions[tile.end - 1] + 1; };

  // Item: tile (the longest first), KV head, span.
  const auto decode_item = [&](std::int64_t item) {
    struct {
      const Tile& tile;
      std::int64_t g, span;
    } r{tiles[num_tiles - 1 - item / (G * spans)], item / spans % G, item % spans};
    return r;
  };
  pool_.run(items, [&](std::int64_t item, int worker) {
    const auto [tile, g, span] = decode_item(item);
    float* own = scratch + per_thread * worker;
    float* block = own + (split ? 0 : 2 * queries * state);
    const std::int64_t count = (tile.end - tile.begin) * heads;
    if (split) {
      float* states = item_states + item * per_item;
      const std::int64_t s0 = span * kSpan;
      if (s0 >= length(tile)) return;
      clear(states, count);
      attend_span(tile, g, s0, std::min(s0 + kSpan, length(tile)), states, block);
      return;
    }
    float *total = own, *part = own + queries * state;
    clear(total, count);
    attend_span(tile, g, 0, std::min(kSpan, length(tile)), total, block);
    for (std::int64_t s0 = kSpan; s0 < length(tile); s0 += kSpan) {
      clear(part, count);
      attend_span(tile, g, s0, std::min(s0 + kSpan, length(tile)), part, block);
      join(tile, s0, total, part);
    }
    finish(tile, g, total);
  });
  if (!split) return;
  pool_.run(num_tiles * G, [&](std::int64_t i, int) {
    const auto [tile, g, span] = decode_item(i * spans);
    float* total = item_states + i * spans * per_item;
    for (std::int64_t s = 1; s * kSpan < length(tile); ++s) join(tile, s * kSpan, total, total + s * per_item);
    finish(tile, g, total);
  });
}

}  // namespace hearth
