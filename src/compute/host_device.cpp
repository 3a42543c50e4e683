#include <sys/mman.h>

#include <cstring>
#include <mutex>

#include "base/status.h"
#include "compute/device.h"

namespace hearth {
namespace {

class HostDevice final : public Device {
 public:
  std::string_view name() const override { return "cpu"; }

  Buffer alloc(std::size_t bytes, std::string_view purpose) override {
    const std::size_t size = (bytes + 4095) / 4096 * 4096;
    if (size == 0) return {};
    void* p = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      throw StartupError("the system refused " + std::to_string(size) + " bytes for " + std::string(purpose), "memory",
                         "lower --max-model-len, --max-num-seqs or --memory");
    if (size >= (std::size_t{4} << 20)) madvise(p, size, MADV_HUGEPAGE);
    auto key = std::string(purpose);
    {
      std::lock_guard lock(*mutex_);
      (*used_)[key] += size;
    }
    return Buffer(p, bytes, std::shared_ptr<void>(p, [size, key, used = used_, mutex = mutex_](void* q) {
                    munmap(q, size);
                    std::lock_guard lock(*mutex);
                    (*used)[key] -= size;
                  }));
  }

  void copy_in(void* device, const void* host, std::size_t bytes) override { std::memcpy(device, host, bytes); }
  void copy_out(void* host, const void* device, std::size_t bytes) override { std::memcpy(host, device, bytes); }
  void zero(void* device, std::size_t bytes) override { std::memset(device, 0, bytes); }

  std::map<std::string, std::size_t> used_bytes() const override {
    std::lock_guard lock(*mutex_);
    return *used_;
  }

 private:
  std::shared_ptr<std::mutex> mutex_ = std::make_shared<std::mutex>();
  std::shared_ptr<std::map<std::string, std::size_t>> used_ = std::make_shared<std::map<std::string, std::size_t>>();
};

}  // namespace

std::unique_ptr<Device> make_host_device() { return std::make_unique<HostDevice>(); }

}  // namespace hearth
