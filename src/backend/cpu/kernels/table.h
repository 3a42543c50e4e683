// table.h — this translation unit's kernels as one table.
#pragma once

#include "backend/cpu/kernels.h"
#include "backend/cpu/kernels/attention.h"
#include "backend/cpu/kernels/delta.h"
#include "backend/cpu/kernels/float_gemm.h"
#include "backend/cpu/kernels/quant_gemm.h"
#include "backend/cpu/kernels/rowwise.h"

#define HEARTH_KERNEL_TABLE(label)                                                                                     \
  {                                                                                                                    \
    label,                                                                                                             \
        {float_gemm<F32Panel>,                                                                                         \
         float_gemm<F16Panel>,                                                                                         \
         float_gemm<Bf16Panel>,                                                                                        \
         float_gemm<F8Panel>,                                                                                          \
         quant_gemm<Q8Panel<false>>,                                                                                   \
         quant_gemm<Q8Panel<true>>,                                                                                    \
         quant_gemm<Q45Panel<false, false>>,                                                                           \
         quant_gemm<Q45Panel<true, false>>,                                                                            \
         quant_gemm<Q45Panel<false, true>>,                                                                            \
         quant_gemm<Q45Panel<true, true>>,                                                                             \
         quant_gemm<Q45KPanel<false>>,                                                                                 \
         quant_gemm<Q45KPanel<true>>,                                                                                  \
         quant_gemm<Q6KPanel>},                                                                                        \
        quantize, add, rms_norm, l2_norm, gated_rms_norm, silu_mul, sigmoid_mul, add_sigmoid_scaled, add_scaled, rope, \
        narrow, widen, attend, attend_merge, attend_finish, conv_row, gdn_gates, delta_step, exp_row, read             \
  }
