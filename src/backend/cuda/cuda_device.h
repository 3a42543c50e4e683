// cuda_device.h — memory of one GPU. Copies wait for the stream that runs the operations.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "compute/device.h"

namespace hearth {

class CudaDevice final : public Device {
 public:
  explicit CudaDevice(int index);
  ~CudaDevice() override;
  std::string_view name() const override { return "cuda"; }
  Buffer alloc(std::size_t bytes, std::string_view purpose) override;
  void copy_in(void* device, const void* host, std::size_t bytes) override;
  void copy_out(void* host, const void* device, std::size_t bytes) override;
  void copy(void* to, const void* from, std::size_t bytes) override;
  void zero(void* device, std::size_t bytes) override;
  std::map<std::string, std::size_t> used_bytes() const override;

  std::optional<Memory> own_memory() const override;

  cudaStream_t stream() const { return stream_; }

 private:
  struct Account {
    std::mutex mutex;
    std::map<std::string, std::size_t> used;
  };
  cudaStream_t stream_ = nullptr;
  std::shared_ptr<Account> account_ = std::make_shared<Account>();
};

}  // namespace hearth
