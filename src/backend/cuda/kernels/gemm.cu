#include "backend/cuda/kernels/gemm.h"

#include "backend/cuda/check.h"
#include "backend/cuda/kernels/common.cuh"

namespace hearth::cuda {
namespace {

constexpr int kMaxSegments = 8;

__device__ inline void mma_fp8(float (&c)[4], const uint4& a, std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}
__device__ inline void mma_bf16(float (&c)[4], const uint4& a, std::uint32_t b0, std::uint32_t b1) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b0), "r"(b1));
}

// Rows of x that a block takes: token j reads row in(j) and writes row to(j); beyond count there is none.
struct PlainRows {
  std::int64_t first, count;
  __device__ std::int64_t in(std::int64_t j) const { return first + j; }
  __device__ std::int64_t to(std::int64_t j) const { return first + j; }
};
struct ExpertRows {
  const std::int32_t* order;
  std::int64_t count, divide;
  __device__ std::int64_t in(std::int64_t j) const { return order[j] / divide; }
  __device__ std::int64_t to(std::int64_t j) const { return order[j]; }
};

struct EntryRow {
  std::int64_t entry, count, divide;
  __device__ std::int64_t in(std::int64_t) const { return entry / divide; }
  __device__ std::int64_t to(std::int64_t) const { return entry; }
};

// One row tile of W times 8 · NT rows of x; the block's warps are the segments.
template <Kind kKind, int NT, class R>
__device__ void tile_product(const MatrixView& w, std::int64_t tile, const Activations& x, const R& rows,
                             const float* bias, float* out, std::int64_t ld, float* shared) {
  const int lane = threadIdx.x % 32, segment = threadIdx.x / 32, segments = blockDim.x / 32;
  const int g = lane / 4, i = lane % 4;
  const int blocks = w.k_tiles / 4, each = (blocks + segments - 1) / segments;
  const int b0 = segment * each, b1 = b0 + each < blocks ? b0 + each : blocks;
  const auto* a = reinterpret_cast<const uint4*>(w.data + tile * w.k_tiles * kTileBytes) + lane;
  const std::uint8_t* in[NT];
  const float *scale_lo[NT], *scale_hi[NT];
#pragma unroll
  for (int n = 0; n < NT; ++n) {
    const std::int64_t last = rows.count - 1;
    const auto clamp = [last](std::int64_t j) { return j < last ? j : last; };
    in[n] = x.q + rows.in(clamp(n * 8 + g)) * w.k_tiles * kRowBytes + i * 16;
    if constexpr (kKind == Kind::fp8) {
      scale_lo[n] = x.scales + rows.in(clamp(n * 8 + 2 * i)) * blocks;
      scale_hi[n] = x.scales + rows.in(clamp(n * 8 + 2 * i + 1)) * blocks;
    }
  }
  const float *ws_lo = nullptr, *ws_hi = nullptr;
  if constexpr (kKind == Kind::fp8) {
    const std::int64_t lo = tile * kTileRows + g, hi = lo + 8, end = w.rows - 1;
    if (w.scale_row == nullptr) {
      ws_lo = ws_hi = w.scales + tile * kTileRows / 128 * blocks;
    } else {
      ws_lo = w.scales + static_cast<std::int64_t>(w.scale_row[lo < end ? lo : end]) * blocks;
      ws_hi = w.scales + static_cast<std::int64_t>(w.scale_row[hi < end ? hi : end]) * blocks;
    }
  }
  float sum[NT][4] = {};
  uint4 next[4];
#pragma unroll
  for (int j = 0; j < 4; ++j) next[j] = b0 < b1 ? __ldcs(a + (b0 * 4 + j) * 32) : uint4{};
  for (int b = b0; b < b1; ++b) {
    uint4 now[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) now[j] = next[j];
    if (b + 1 < b1)
#pragma unroll
      for (int j = 0; j < 4; ++j) next[j] = __ldcs(a + ((b + 1) * 4 + j) * 32);
    float w_lo = 0, w_hi = 0;
    if constexpr (kKind == Kind::fp8) w_lo = ws_lo[b], w_hi = ws_hi[b];
#pragma unroll
    for (int n = 0; n < NT; ++n) {
      const uint4 x0 = *reinterpret_cast<const uint4*>(in[n] + b * 128),
                  x1 = *reinterpret_cast<const uint4*>(in[n] + b * 128 + 64);
      if constexpr (kKind == Kind::fp8) {
        float part[4] = {};
        mma_fp8(part, now[0], x0.x, x0.y);
        mma_fp8(part, now[1], x0.z, x0.w);
        mma_fp8(part, now[2], x1.x, x1.y);
        mma_fp8(part, now[3], x1.z, x1.w);
        const float s_lo = scale_lo[n][b], s_hi = scale_hi[n][b];
        sum[n][0] += part[0] * (w_lo * s_lo);
        sum[n][1] += part[1] * (w_lo * s_hi);
        sum[n][2] += part[2] * (w_hi * s_lo);
        sum[n][3] += part[3] * (w_hi * s_hi);
      } else {
        mma_bf16(sum[n], now[0], x0.x, x0.y);
        mma_bf16(sum[n], now[1], x0.z, x0.w);
        mma_bf16(sum[n], now[2], x1.x, x1.y);
        mma_bf16(sum[n], now[3], x1.z, x1.w);
      }
    }
  }
  // shared [segments][8 · NT][16]
  constexpr int kNumbers = NT * 8 * kTileRows;
#pragma unroll
  for (int n = 0; n < NT; ++n) {
    float* at = shared + segment * kNumbers + (n * 8 + 2 * i) * kTileRows + g;
    at[0] = sum[n][0];
    at[kTileRows] = sum[n][1];
    at[8] = sum[n][2];
    at[kTileRows + 8] = sum[n][3];
  }
  __syncthreads();
  for (int at = threadIdx.x; at < kNumbers; at += blockDim.x) {
    const std::int64_t token = at / kTileRows, row = tile * kTileRows + at % kTileRows;
    if (token >= rows.count || row >= w.rows) continue;
    float total = shared[at];
    for (int s = 1; s < segments; ++s) total += shared[s * kNumbers + at];
    if (bias != nullptr) total += bias[row];
    out[rows.to(token) * ld + row] = total;
  }
}

// f32 rows: a warp a row of W, rows of x one after the other.
template <class R>
__device__ void row_product(const MatrixView& w, std::int64_t row, const Activations& x, const R& rows,
                            const float* bias, float* out, std::int64_t ld) {
  if (row >= w.rows) return;
  const int lane = threadIdx.x % 32;
  const float* a = reinterpret_cast<const float*>(w.data) + row * w.cols;
  for (std::int64_t j = 0; j < rows.count; ++j) {
    const float* in = x.x + rows.in(j)*x.x_stride;
    float sum = 0;
    for (std::int64_t c = lane; c < w.cols; c += 32) sum += a[c] * in[c];
    sum = warp_sum(sum);
    if (lane == 0) out[rows.to(j) * ld + row] = bias != nullptr ? sum + bias[row] : sum;
  }
}

template <Kind kKind, int NT, class R>
__device__ void one_tile(const MatrixView& w, std::int64_t tile, const Activations& x, const R& rows, const float* bias,
                         float* out, std::int64_t ld, float* shared) {
  if constexpr (kKind == Kind::f32) {
    const int warps = blockDim.x / 32;
    for (int r = threadIdx.x / 32; r < kTileRows; r += warps)
      row_product(w, tile * kTileRows + r, x, rows, bias, out, ld);
  } else {
    tile_product<kKind, NT>(w, tile, x, rows, bias, out, ld, shared);
  }
}

struct ProductList {
  Product p[kMaxProducts];
  int count;
};

template <Kind kKind, int NT>
__global__ void __launch_bounds__(32 * kMaxSegments) product_tiles(ProductList list, Activations x) {
  extern __shared__ float shared[];
  int m = 0;
  while (m + 1 < list.count && static_cast<std::int32_t>(blockIdx.x) >= list.p[m + 1].first_tile) ++m;
  const Product& p = list.p[m];
  const std::int64_t first = static_cast<std::int64_t>(blockIdx.y) * NT * 8;
  const PlainRows rows{first, x.rows - first < NT * 8 ? x.rows - first : NT * 8};
  const std::int64_t tile = static_cast<std::int64_t>(blockIdx.x) - p.first_tile;
  one_tile<kKind, NT>(p.w, tile, x, rows, p.bias, p.out, p.ld, shared);
}

// Grid (row tiles of all matrices, y, group of an expert's entries). y is, by `walk`:
//   entry    an entry by itself: nothing is sorted, an expert's weights come from the cache when two entries share it
//   sorted   a place in the order: the block whose place begins a group of 8 · NT of its expert does the work
//   expert   an expert, with z counting its groups
enum class Walk { entry, sorted, expert };

template <Kind kKind, int NT>
__global__ void __launch_bounds__(32 * kMaxSegments) expert_tiles(ExpertProducts p, Activations x, Walk walk) {
  extern __shared__ float shared[];
  std::int64_t e = blockIdx.y, first = 0;
  const std::int64_t down = (p.rows + kTileRows - 1) / kTileRows, m = blockIdx.x / down, tile = blockIdx.x % down;
  float* out = p.out + m * down * kTileRows;
  if (walk == Walk::entry) {
    const EntryRow rows{static_cast<std::int64_t>(blockIdx.y), 1, p.divide};
    one_tile<kKind, NT>(p.tables[m * p.E + p.ids[blockIdx.y]], tile, x, rows, nullptr, out, p.ld, shared);
    return;
  }
  if (walk == Walk::sorted) {
    first = blockIdx.y;
    e = p.ids[p.order[first]];
    if ((first - p.begin[e]) % (NT * 8) != 0) return;
  } else {
    first = p.begin[e] + static_cast<std::int64_t>(blockIdx.z) * NT * 8;
    if (first >= p.begin[e + 1]) return;
  }
  const std::int64_t left = p.begin[e + 1] - first;
  const ExpertRows rows{p.order + first, left < NT * 8 ? left : NT * 8, p.divide};
  one_tile<kKind, NT>(p.tables[m * p.E + e], tile, x, rows, nullptr, out, p.ld, shared);
}

int segments_of(Kind kind, std::int64_t k_tiles) {
  if (kind == Kind::f32) return 4;
  return static_cast<int>(k_tiles / 4 < kMaxSegments ? k_tiles / 4 : kMaxSegments);
}
std::size_t shared_bytes(Kind kind, int segments, int NT) {
  return kind == Kind::f32 ? 0 : static_cast<std::size_t>(segments) * NT * 8 * kTileRows * sizeof(float);
}

// Calls f with the kind and the number of 8-row tiles of x as constants.
template <class F>
void dispatch(Kind kind, std::int64_t rows, const F& f) {
  const auto width = [&]<Kind kKind>() {
    if (rows <= 8)
      f.template operator()<kKind, 1>();
    else if (rows <= 16)
      f.template operator()<kKind, 2>();
    else if (rows <= 32)
      f.template operator()<kKind, 4>();
    else
      f.template operator()<kKind, 8>();
  };
  if (kind == Kind::fp8)
    width.template operator()<Kind::fp8>();
  else if (kind == Kind::bf16)
    width.template operator()<Kind::bf16>();
  else
    f.template operator()<Kind::f32, 1>();
}

}  // namespace

void products(cudaStream_t s, const Product* list, int count, const Activations& x) {
  if (x.rows == 0) return;
  ProductList l{};
  l.count = count;
  std::int32_t tiles = 0;
  for (int m = 0; m < count; ++m) {
    l.p[m] = list[m];
    l.p[m].first_tile = tiles;
    tiles += static_cast<std::int32_t>(tiles_down(list[m].w.rows));
  }
  const Kind kind = list[0].w.kind;
  const int segments = segments_of(kind, list[0].w.k_tiles);
  dispatch(kind, x.rows, [&]<Kind kKind, int NT>() {
    const dim3 grid(static_cast<unsigned>(tiles), blocks_for(x.rows, NT * 8));
    product_tiles<kKind, NT><<<grid, 32 * segments, shared_bytes(kind, segments, NT), s>>>(l, x);
  });
  HEARTH_CUDA(cudaGetLastError());
}

void expert_products(cudaStream_t s, const ExpertProducts& p, const Activations& x) {
  if (p.entries == 0) return;
  const int segments = segments_of(p.kind, tiles_across(p.kind, p.cols));
  const auto down = static_cast<unsigned>(tiles_down(p.rows) * p.matrices);
  const Walk walk = p.order == nullptr ? Walk::entry : p.entries <= 2 * p.E ? Walk::sorted : Walk::expert;
  const std::int64_t expected = walk == Walk::expert ? p.entries / p.E * 2 : 8;  // rows of a usual expert, doubled
  dispatch(p.kind, expected, [&]<Kind kKind, int NT>() {
    const dim3 grid = walk == Walk::expert ? dim3(down, static_cast<unsigned>(p.E), blocks_for(p.most_rows, NT * 8))
                                           : dim3(down, static_cast<unsigned>(p.entries));
    expert_tiles<kKind, NT><<<grid, 32 * segments, shared_bytes(p.kind, segments, NT), s>>>(p, x, walk);
  });
  HEARTH_CUDA(cudaGetLastError());
}

}  // namespace hearth::cuda
