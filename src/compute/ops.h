// ops.h — the vocabulary. A model is written over these; each backend speaks them; `ref` defines them.
//
// Shapes    letters as in docs/GLOSSARY.md: T tokens of the step, B sequences, D hidden, H query heads, G KV heads, K head
//           width, Hk Hv Dk Dv linear-attention heads and widths, E experts, A active, F expert width, V vocabulary,
//           P blocks, N tokens a block.
// Dtypes    activations f32 on `ref` and `cpu` (the backend's act_dtype()); small vectors (norm weights, biases, A_log …)
//           f32; ids, positions and tables i32. Accumulation f32 or better.
// Order     what one row (one token of one sequence) gets depends on that row, its sequence's cache and the weights only: not
//           on T, on the other rows, on how a prompt was cut into chunks, nor on the number of threads. Bit for bit.
// Strides   rows are contiguous except where a card says "outer strides free" (the last axis always is contiguous).
// Aliasing  out may be the input of the same shape where the card says "in place"; else no overlap.
// Errors    none at run time: shapes are checked by CheckedOps in tests. load_matrix throws StartupError.
// Threads   one caller at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "compute/device.h"
#include "compute/matrix.h"
#include "compute/step_shape.h"
#include "tensor/tensor.h"

namespace hearth {

// Where each row of a step belongs. Host memory on CPU backends; int32, contiguous.
struct Batch {
  Tensor positions;     // [T]     position of the token in its sequence
  Tensor seq_of_row;    // [T]     sequence index 0..B-1
  Tensor cu_seqlens_q;  // [B + 1] rows [cu[b], cu[b+1]) belong to sequence b, in order
  Tensor seq_lens;      // [B]     context length including this step's rows
  Tensor block_tables;  // [B, max_blocks]  block of positions [i·N, (i+1)·N) of sequence b
  Tensor slot_mapping;  // [T]     block · N + offset where this row's k and v go
  Tensor state_slots;   // [B]     recurrent-state slot; a sequence whose first row has position 0 starts from zeros
  std::int64_t block_tokens = 16;  // N
};

// One attention layer's cache: k, v [P, N, G, K], f32, f16 or bf16.
struct KvCache {
  Tensor k, v;
};

// Experts of one layer; each entry [F, D], [F, D], [D, F].
struct Experts {
  std::vector<Matrix> gate_proj, up_proj, down_proj;
};

enum class RopeStyle { half_split, adjacent };  // pairs (i, i + R/2), or (2i, 2i + 1)
enum class HeadMap { grouped, tiled };          // key head of value head h: h / (Hv / Hk), or h mod Hk

struct DeltaNetParams {  // of a gated delta net layer
  Tensor conv1d, a_log, dt_bias, norm;
  std::int64_t num_k_heads = 0, num_v_heads = 0, head_k_dim = 0, head_v_dim = 0;
  float l2_eps = 0, q_scale = 1, norm_eps = 0;
  HeadMap map = HeadMap::grouped;
};

// What happens to the activations of a product x · Wᵀ before they meet the weights (which are exact as stored); sums are f32
// or better. A test's tolerance follows from it.
//   f32    nothing
//   bf16   each number is rounded to bf16
//   q8_32, q8_256   each run of 32 (256) numbers becomes int8 · (largest magnitude / 127)
//   fp8_128   each run of 128 numbers becomes e4m3 · (largest magnitude / 448)
enum class Arithmetic { f32, bf16, q8_32, q8_256, fp8_128 };

class Ops {
 public:
  virtual ~Ops() = default;
  virtual std::string_view name() const = 0;  // "ref", "ref-w8a8", "cpu"
  virtual Device& device() = 0;
  virtual DType act_dtype() const { return DType::f32; }

  // Takes parts stacked by rows (same format and cols) into the backend's form. Reads the parts during the call only.
  virtual Matrix load_matrix(std::span<const StoredMatrix> parts) = 0;
  // How linear, linear_many and moe compute with this matrix.
  virtual Arithmetic arithmetic(const Matrix& w) const {
    (void)w;
    return Arithmetic::f32;
  }
  // Bytes that load_matrix will take for a matrix of this stored format. Planning tells of all matrices before any is read;
  // workspace_bytes() then counts with them.
  virtual std::size_t plan_matrix(Format format, std::int64_t rows, std::int64_t cols) {
    return static_cast<std::size_t>(rows * format_bytes(format, cols));
  }
  // Bytes that operations need beside their inputs and outputs in steps no larger than this, given the matrices loaded (or
  // planned) so far. reserve() takes them; from then on nothing is allocated.
  virtual std::size_t workspace_bytes(const StepShape& largest) = 0;
  virtual void reserve(const StepShape& largest) = 0;
  // Calls body(i) for each i in [0, n), on the backend's threads where it has some: host work between two forward passes.
  virtual int num_threads() const { return 1; }
  virtual void parallel(std::int64_t n, const std::function<void(std::int64_t)>& body) {
    for (std::int64_t i = 0; i < n; ++i) body(i);
  }

  // Runs body. What it launches is the same whenever the key is, and so are the tensors: a backend may record it once and repeat
  // the record without running it.
  virtual void repeat(std::span<const std::int64_t> key, const std::function<void()>& body) {
    (void)key;
    body();
  }

  // ---- rows in, rows out -------------------------------------------------------------------------------------------
  // out[t, :] = table[ids[t], :]                                               out [T, D], ids [T], table [V, D]
  virtual void embed(Tensor out, Tensor ids, const Matrix& table) = 0;
  // out = x · (mean(x²) + eps)^-½ · w over the last axis (outer strides free); in place allowed.   w [n]
  virtual void rms_norm(Tensor out, Tensor x, Tensor w, float eps) = 0;
  // r ← r + m; out = rms_norm(r).                                              all [T, D]
  virtual void add_rms_norm(Tensor out, Tensor r, Tensor m, Tensor w, float eps);
  // x ← x + y                                                                  [T, D]
  virtual void add(Tensor x, Tensor y) = 0;
  // out = x · Wᵀ (+ bias)                                                      out [T, N], x [T, K], bias [N] or null data
  virtual void linear(Tensor out, Tensor x, const Matrix& w, Tensor bias = {}) = 0;
  // The same input through several matrices: one pass over x. outs[i] = x · ws[i]ᵀ (+ biases[i]).
  virtual void linear_many(std::span<const Tensor> outs, Tensor x, std::span<const Matrix* const> ws,
                           std::span<const Tensor> biases);
  // out = silu(gate) ⊙ up                                                      [T, F]; in place on either
  virtual void silu_mul(Tensor out, Tensor gate, Tensor up) = 0;
  // out = x ⊙ sigmoid(gate)                                                    same shapes, outer strides free; in place
  virtual void sigmoid_mul(Tensor out, Tensor x, Tensor gate) = 0;
  // x[t, :] ← x[t, :] + sigmoid(s[t]) · y[t, :]                                x, y [T, D], s [T, 1]
  virtual void add_sigmoid_scaled(Tensor x, Tensor y, Tensor s) = 0;
  // out[i, :] = x[rows[i], :]                                                  out [L, D], rows [L]
  virtual void gather_rows(Tensor out, Tensor x, Tensor rows) = 0;

  // ---- attention ---------------------------------------------------------------------------------------------------
  // Rotates the first 2·|inv_freq| numbers of each head; angle = f32(position) · inv_freq[i], cos and sin with full range
  // reduction. x [T, H, K] in place, outer strides free; positions [T]; inv_freq [R/2].
  virtual void rope(Tensor x, Tensor positions, Tensor inv_freq, RopeStyle style) = 0;
  // cache[slot_mapping[t]] ← k[t], v[t], rounded to the cache's dtype.          k, v [T, G, K]
  virtual void write_kv(const KvCache& cache, Tensor k, Tensor v, const Batch& batch) = 0;
  // Causal attention of each row over positions 0 … its own, through the block table; softmax in f32.
  // out, q [T, H, K]; query head h reads KV head h / (H / G).
  virtual void attention(Tensor out, Tensor q, const KvCache& cache, const Batch& batch, float scale) = 0;

  // ---- gated delta net ---------------------------------------------------------------------------------------------
  // y[t, c] = silu( Σ_j w[c, j] · u[t - 3 + j, c] ), u before the first row from the state, which keeps the last 3 rows of
  // u (before the convolution), oldest first.     out, u [T, C], w [C, 4], state [slots, 3, C] f32
  virtual void causal_conv1d(Tensor out, Tensor u, Tensor w, Tensor state, const Batch& batch) = 0;
  // g = -exp(A_log) · softplus(a + dt_bias), beta = sigmoid(b).               all [T, Hv]; A_log, dt_bias [Hv]
  virtual void gdn_gates(Tensor g, Tensor beta, Tensor a, Tensor b, Tensor a_log, Tensor dt_bias) = 0;
  // out = x · (Σx² + eps)^-½ · scale over the last axis; in place; outer strides free.
  virtual void l2_norm(Tensor out, Tensor x, float eps, float scale) = 0;
  // S ← e^g S; u = beta (v - Sᵀk); S ← S + k uᵀ; y = Sᵀq, row after row.
  // q, k [T, Hk, Dk] normalised, y, v [T, Hv, Dv], g, beta [T, Hv], state [slots, Hv, Dk, Dv] f32. Outer strides free.
  virtual void gated_delta_rule(Tensor y, Tensor q, Tensor k, Tensor v, Tensor g, Tensor beta, Tensor state,
                                HeadMap map, const Batch& batch) = 0;
  // out = rms_norm(x; w) ⊙ silu(z) over the last axis.                         [T, Hv, Dv], w [Dv]; in place
  virtual void gated_rms_norm(Tensor out, Tensor x, Tensor z, Tensor w, float eps) = 0;

  // All of the above for a step in which each sequence has one row: causal_conv1d of u, l2_norm of its q and k (q times
  // q_scale), gdn_gates, gated_delta_rule, gated_rms_norm. y, z [T, Hv·Dv], u [T, C], a, b [T, Hv]. A row gets the bits that
  // the operations one by one give it. False: not done, nothing written.
  virtual bool delta_net_step(Tensor y, Tensor u, Tensor z, Tensor b, Tensor a, const DeltaNetParams& p,
                              Tensor conv_state, Tensor state, const Batch& batch) {
    (void)y, (void)u, (void)z, (void)b, (void)a, (void)p, (void)conv_state, (void)state, (void)batch;
    return false;
  }

  // ---- experts -----------------------------------------------------------------------------------------------------
  // Softmax over all E, the A largest (ties: lower index), divided by their sum if renormalise.
  // weights [T, A] f32, ids [T, A] i32, descending; logits [T, E].
  virtual void router_topk(Tensor weights, Tensor ids, Tensor logits, bool renormalise) = 0;
  // out[t] = Σ_a weights[t, a] · down( silu(gate(x[t])) ⊙ up(x[t]) ) of expert ids[t, a], summed in ascending expert id.
  virtual void moe(Tensor out, Tensor x, Tensor weights, Tensor ids, const Experts& experts) = 0;
};

}  // namespace hearth
