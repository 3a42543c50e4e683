// case_bench.h — where a case runs: random inputs in a backend's memory, poisoned outputs, and the usual error bounds.
//
// Owns      the memory of one run; views handed out live as long as it.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "base/rng.h"
#include "compute/op_case.h"
#include "compute/ops.h"

namespace hearth {

using Shape = std::initializer_list<std::int64_t>;

inline constexpr double kU = 0x1.0p-24;  // unit roundoff of f32

struct Input {
  Tensor t;              // in the backend's memory
  std::vector<float> v;  // the same numbers in logical order
};

struct CaseMatrix {
  Matrix m;
  Arithmetic arithmetic = Arithmetic::f32;
  std::int64_t rows = 0, cols = 0;
  std::vector<float> w;  // widened, row-major
  const float* row(std::int64_t r) const { return w.data() + r * cols; }
};

// One sequence of a batch: tokens before this step, and rows of this step.
struct CaseSequence {
  std::int64_t cached = 0, rows = 0;
};

struct CaseBatch {
  Batch batch;
  std::int64_t T = 0, B = 0, num_blocks = 0, num_slots = 0;
  std::vector<std::int32_t> positions, seq_of_row, block_tables, slot_mapping, state_slots;
  std::int64_t max_blocks = 0;
};

class CaseBench {
 public:
  CaseBench(Ops& ops, std::uint64_t seed) : rng(seed), ops_(ops) {}

  // gap > 0: a view with gap / 2 foreign (NaN) numbers before each row of the last axis and the rest after it.
  Input normal(Shape shape, double scale = 1.0, std::int64_t gap = 0);
  Input uniform(Shape shape, double low, double high, std::int64_t gap = 0);
  Input numbers(Shape shape, std::vector<float> values, std::int64_t gap = 0);
  Tensor ints(Shape shape, const std::vector<std::int32_t>& values);
  Tensor out(Shape shape, std::int64_t gap = 0);  // poisoned with NaN
  Tensor out_ints(Shape shape);
  // A cache [P, N, G, K] of random numbers rounded to dtype, in memory of that dtype; v in f32.
  Input cache(DType dtype, Shape shape);

  // Random weights of about 1/√cols in a format. parts: rows of each stacked part.
  CaseMatrix matrix(Format format, std::vector<std::int64_t> parts, std::int64_t cols);

  // Block tables out of order, foreign blocks between them, slots shuffled.
  CaseBatch batch(const std::vector<CaseSequence>& sequences, std::int64_t block_tokens);

  std::vector<float> read(const Tensor& view) const;  // logical order; i32 as float
  // How many numbers outside the views were written; 0 expected.
  CaseOutput untouched() const;

  Rng rng;

 private:
  struct Piece {
    Buffer buffer;
    Tensor whole, view;
    std::vector<std::uint32_t> before;  // 4-byte pieces: what it held at first
  };
  Tensor place(DType dtype, const std::vector<std::int64_t>& shape, const void* logical, std::int64_t gap);
  std::vector<std::byte> copy_of(const Piece& piece) const;
  const Piece& piece_of(const Tensor& view) const;

  Ops& ops_;
  std::deque<Piece> pieces_;
};

// ---- bounds ---------------------------------------------------------------------------------------------------------

// |fl(Σ x w) − Σ x w| for a sum of K products: at most K · u · Σ |x w| in any order of summation, a few u more for scales
// applied to partial sums; plus what the arithmetic does to x:
//   bf16           u_bf16 = 2⁻⁸ relative a number
//   q8_32, q8_256  half a step, (largest magnitude of the run) / 254, a number; 1 % for the rounding of the step itself
double product_bound(const float* x, const float* w, std::int64_t K, Arithmetic arithmetic);
std::vector<double> linear_bound(const std::vector<float>& x, const CaseMatrix& w, std::int64_t T);

// factor · u · |v| + floor for each number.
std::vector<double> relative(const std::vector<float>& v, double factor, double floor = 1e-37);
inline std::vector<double> exactly(std::size_t n) { return std::vector<double>(n, 0.0); }
// One number: in how many places two results differ in their bits. 0 expected.
CaseOutput same_bits(std::string name, const std::vector<float>& a, const std::vector<float>& b);

}  // namespace hearth
