// repeat: a body's launches as a CUDA graph. The first run is an ordinary one, in which scratch grows and tables are made; the
// second is recorded; later ones launch the record.
#include "backend/cuda/check.h"
#include "backend/cuda/cuda_ops_impl.h"

namespace hearth {

void CudaOps::forget_records() {
  for (auto& [key, record] : records_)
    if (record.graph != nullptr) cudaGraphExecDestroy(record.graph);
  records_.clear();
}

void CudaOps::repeat(std::span<const std::int64_t> key, const std::function<void()>& body) {
  // Shapes come and go over months, and each record takes device memory.
  constexpr std::size_t kMaxRecords = 64;
  const std::vector<std::int64_t> k(key.begin(), key.end());
  if (records_.size() >= kMaxRecords && !records_.contains(k)) forget_records();
  if (records_[k].runs == 0) {
    body();
    records_[k].runs = 1;  // looked up anew: growing scratch forgets records
  } else {
    Record& record = records_[k];
    if (record.graph == nullptr) {
      cudaGraph_t graph = nullptr;
      HEARTH_CUDA(cudaStreamBeginCapture(device_.stream(), cudaStreamCaptureModeThreadLocal));
      try {
        body();
      } catch (...) {
        cudaStreamEndCapture(device_.stream(), &graph);
        if (graph != nullptr) cudaGraphDestroy(graph);
        throw;
      }
      HEARTH_CUDA(cudaStreamEndCapture(device_.stream(), &graph));
      const cudaError_t error = cudaGraphInstantiate(&record.graph, graph, 0);
      cudaGraphDestroy(graph);
      if (error != cudaSuccess) cuda_failed(error, "cudaGraphInstantiate");
    }
    HEARTH_CUDA(cudaGraphLaunch(record.graph, device_.stream()));
  }
  for (Beside& b : beside_) b.of = nullptr;  // what the record wrote last is not known here
}

}  // namespace hearth
