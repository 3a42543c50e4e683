#include "backend/ref/ref_matrix.h"
#include "backend/ref/ref_ops.h"

namespace hearth {

void RefOps::embed(Tensor out, Tensor ids, const Matrix& table) {
  const std::int64_t D = table.cols;
  for (std::int64_t t = 0; t < ids.dim(0); ++t)
    ref_matrix(table).widen_row(ids.ptr<std::int32_t>()[t], {out.row<float>(t), static_cast<std::size_t>(D)});
}

}  // namespace hearth
