#include "backend/cuda/cuda_device.h"

#include <fmt/format.h>

#include "backend/cuda/check.h"
#include "backend/cuda/cuda_ops.h"
#include "base/status.h"

namespace hearth {

void cuda_failed(cudaError_t error, const char* call) {
  throw std::runtime_error(
      fmt::format("the GPU failed: {} ({}), in {}", cudaGetErrorString(error), cudaGetErrorName(error), call));
}

std::string cuda_unavailable() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaErrorInsufficientDriver || error == cudaErrorNoDevice || (error == cudaSuccess && count == 0)) {
    int driver = 0;
    cudaDriverGetVersion(&driver);
    if (driver == 0) return "no NVIDIA driver is installed here";
    if (error == cudaErrorInsufficientDriver)
      return fmt::format("the NVIDIA driver supports CUDA {}.{} and 13.0 is needed", driver / 1000, driver % 1000 / 10);
    return "the NVIDIA driver shows no GPU (CUDA_VISIBLE_DEVICES?)";
  }
  if (error != cudaSuccess) return cudaGetErrorString(error);
  cudaDeviceProp p{};
  if (const cudaError_t e = cudaGetDeviceProperties(&p, 0); e != cudaSuccess) return cudaGetErrorString(e);
  if (p.major < 9)
    return fmt::format("{} has compute capability {}.{}, and 9.0 or newer is needed", p.name, p.major, p.minor);
  return {};
}

CudaDevice::CudaDevice(int index) {
  HEARTH_CUDA(cudaSetDevice(index));
  HEARTH_CUDA(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking));
}

CudaDevice::~CudaDevice() { cudaStreamDestroy(stream_); }

Buffer CudaDevice::alloc(std::size_t bytes, std::string_view purpose) {
  if (bytes == 0) return {};
  void* p = nullptr;
  if (const cudaError_t error = cudaMalloc(&p, bytes); error != cudaSuccess) {
    if (error != cudaErrorMemoryAllocation) cuda_failed(error, "cudaMalloc");
    cudaGetLastError();  // not sticky: the next call must not see it
    std::size_t free = 0, total = 0;
    HEARTH_CUDA(cudaMemGetInfo(&free, &total));
    throw StartupError(fmt::format("the GPU has {:.1f} GiB free of {:.1f}, and {} needs {:.1f} GiB more",
                                   static_cast<double>(free) / (1 << 30), static_cast<double>(total) / (1 << 30),
                                   purpose, static_cast<double>(bytes) / (1 << 30)),
                       "GPU memory",
                       "lower --max-model-len, --max-num-seqs or --memory, or end what else uses the GPU");
  }
  HEARTH_CUDA(cudaMemsetAsync(p, 0, bytes, stream_));
  auto key = std::string(purpose);
  {
    std::lock_guard lock(account_->mutex);
    account_->used[key] += bytes;
  }
  return Buffer(p, bytes, std::shared_ptr<void>(p, [bytes, key, account = account_](void* q) {
                  cudaFree(q);
                  std::lock_guard lock(account->mutex);
                  account->used[key] -= bytes;
                }));
}

void CudaDevice::copy_in(void* device, const void* host, std::size_t bytes) {
  if (bytes > 0) HEARTH_CUDA(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream_));
  HEARTH_CUDA(cudaStreamSynchronize(stream_));
}

void CudaDevice::copy_out(void* host, const void* device, std::size_t bytes) {
  if (bytes > 0) HEARTH_CUDA(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream_));
  HEARTH_CUDA(cudaStreamSynchronize(stream_));
}

void CudaDevice::copy(void* to, const void* from, std::size_t bytes) {
  HEARTH_CUDA(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToDevice, stream_));
}

void CudaDevice::zero(void* device, std::size_t bytes) { HEARTH_CUDA(cudaMemsetAsync(device, 0, bytes, stream_)); }

std::optional<Device::Memory> CudaDevice::own_memory() const {
  Memory m;
  HEARTH_CUDA(cudaMemGetInfo(&m.available, &m.total));
  return m;
}

std::map<std::string, std::size_t> CudaDevice::used_bytes() const {
  std::lock_guard lock(account_->mutex);
  return account_->used;
}

}  // namespace hearth
