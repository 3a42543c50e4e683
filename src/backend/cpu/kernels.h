// kernels.h — what each instruction set offers: inner loops on raw pointers, behind function pointers.
//
// The same source (kernels/*.h) is compiled once for each instruction set by isa/<name>_*.cpp. Nothing here allocates,
// starts threads or knows tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "tensor/tensor.h"

namespace hearth {

// A matrix as it lies in memory: panels of 16 rows, one after the other; within a panel, blocks of columns; within a block,
// its scales and then its numbers, 16 rows side by side (pack.h says the order for each layout).
enum class Layout : std::uint8_t { f32, f16, bf16, f8, q8_0, q8_f32, q4_0, q4_1, q5_0, q5_1, q4_k, q5_k, q6_k };
inline constexpr int kNumLayouts = static_cast<int>(Layout::q6_k) + 1;
constexpr bool is_float(Layout l) { return l <= Layout::f8; }

inline constexpr std::int64_t kPanelRows = 16;
inline constexpr std::int64_t kScaleBlock = 128;  // rows and columns that share an FP8 scale

// 32 numbers of an activation row as x ≈ d · q, for the integer layouts.
struct QBlock {
  std::int8_t q[32];
  float d;            // largest magnitude / 127
  float sum;          // d · Σ q
  std::int32_t n[2];  // −Σ q of either half
};

// out[r][16 p … 16 p + 15] = panel p · x[r] + bias, for panels [p0, p1) and all rows. The order of additions for one
// number does not depend on how many rows or panels a call has.
struct GemmArgs {
  const std::byte* panels = nullptr;
  std::size_t panel_bytes = 0;
  std::int64_t p0 = 0, p1 = 0;
  std::int64_t n = 0;  // rows of the matrix (the last panel may be part padding)
  std::int64_t k = 0;
  const void* const* x = nullptr;  // per row: float[k], or QBlock[k / 32]
  float* const* out = nullptr;     // per row
  std::int64_t rows = 0;
  const float* bias = nullptr;    // [n] or null
  const float* scales = nullptr;  // f8: per panel and 128 columns, scale_lanes numbers
  std::int64_t scale_lanes = 1;   // 16 where the rows of a panel differ
};

// Online softmax of one query over positions: m the largest score, l = Σ e^(s − m), acc = Σ e^(s − m) v.
struct AttendQuery {
  const float* q = nullptr;  // [width]
  float* acc = nullptr;      // [width], rounded up to 16
  float* ml = nullptr;       // m, l
  std::int64_t count = 0;    // how many of the block's positions it sees
};
inline constexpr std::int64_t kAttendBlock = 64;

struct Kernels {
  std::string_view name;
  void (*gemm[kNumLayouts])(const GemmArgs&);
  // q blocks of a row of k numbers, k a multiple of 32.
  void (*quantize)(const float* x, std::int64_t k, QBlock* out);

  void (*add)(float* x, const float* y, std::int64_t n);
  void (*rms_norm)(float* out, const float* x, const float* w, std::int64_t n, float eps);
  void (*l2_norm)(float* out, const float* x, std::int64_t n, float eps, float scale);
  void (*gated_rms_norm)(float* out, const float* x, const float* z, const float* w, std::int64_t n, float eps);
  void (*silu_mul)(float* out, const float* gate, const float* up, std::int64_t n);
  void (*sigmoid_mul)(float* out, const float* x, const float* gate, std::int64_t n);
  void (*add_sigmoid_scaled)(float* x, const float* y, float s, std::int64_t n);
  void (*add_scaled)(float* x, const float* y, float s, std::int64_t n);  // x += s · y
  void (*rope)(float* head, const float* cos, const float* sin, std::int64_t half, bool adjacent);
  void (*narrow)(void* out, DType dtype, const float* x, std::int64_t n);  // f32 → f32, f16, bf16
  void (*widen)(float* out, const void* x, DType dtype, std::int64_t n);   // and back
  // One block of positions for some queries; k, v: a pointer for each position, width numbers.
  void (*attend)(const AttendQuery* queries, std::int64_t num_queries, const float* const* k, const float* const* v,
                 std::int64_t width, float scale);
  // Joins the softmax over later positions into that over earlier ones.
  void (*attend_merge)(float* acc, float* ml, const float* acc2, const float* ml2, std::int64_t width);
  void (*attend_finish)(float* out, const float* acc, const float* ml, std::int64_t width);
  // silu of the 4-tap sum of channels [0, n); past: the three rows before, oldest first; w [n, 4].
  void (*conv_row)(float* out, const float* const* past, const float* u, const float* w, std::int64_t n);
  void (*gdn_gates)(float* g, float* beta, const float* a, const float* b, const float* a_log, const float* dt_bias,
                    std::int64_t n);
  // One step of the gated delta rule on n ≤ 64 columns of a state [dk, stride].
  void (*delta_step)(float* y, float* state, std::int64_t stride, const float* q, const float* k, const float* v,
                     float g, float beta, std::int64_t dk, std::int64_t n);
  // e[i] = e^(x[i] − largest); returns their sum.
  float (*exp_row)(float* e, const float* x, float largest, std::int64_t n);
  float (*read)(const float* data, std::size_t n);  // touches all; a checksum
};

extern const Kernels kKernelsPortable;
#if defined(__x86_64__)
extern const Kernels kKernelsAvx2;    // AVX2, FMA, F16C
extern const Kernels kKernelsAvx512;  // AVX-512 F, BW, DQ, VL, VNNI
#elif defined(__aarch64__)
extern const Kernels kKernelsDotprod;  // ARMv8.2 with dot products
#endif

}  // namespace hearth
