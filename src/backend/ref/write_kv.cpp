#include "backend/ref/ref_ops.h"
#include "backend/ref/rows.h"

namespace hearth {

void RefOps::write_kv(const KvCache& cache, Tensor k, Tensor v, const Batch& batch) {
  const std::int64_t row = k.dim(1) * k.dim(2);  // G · K numbers a slot
  for (std::int64_t t = 0; t < k.dim(0); ++t) {
    const std::int64_t slot = batch.slot_mapping.ptr<std::int32_t>()[t];
    for (std::int64_t i = 0; i < row; ++i) {
      store_number(cache.k, slot * row + i, k.row<float>(t)[i]);
      store_number(cache.v, slot * row + i, v.row<float>(t)[i]);
    }
  }
}

}  // namespace hearth
