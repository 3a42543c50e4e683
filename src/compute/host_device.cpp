#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#include "base/status.h"
#include "compute/device.h"

namespace hearth {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kPieceBytes = 32 << 20;  // commit: a thread's share at a time; whole huge pages
// Mapped after each buffer and never touched: what runs over an end finds nobody else's numbers, and AddressSanitizer, which
// sees no borders in mapped memory by itself, reports it.
constexpr std::size_t kGuardBytes = kPageBytes;

class HostDevice final : public Device {
 public:
  std::string_view name() const override { return "cpu"; }

  Buffer alloc(std::size_t bytes, std::string_view purpose) override {
    const std::size_t size = (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
    if (size == 0) return {};
    const std::size_t mapped = size + kGuardBytes;
    void* p = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
      throw StartupError("the system refused " + std::to_string(size) + " bytes for " + std::string(purpose), "memory",
                         "lower --max-model-len, --max-num-seqs or --memory");
    if (size >= (std::size_t{4} << 20)) madvise(p, size, MADV_HUGEPAGE);
    ASAN_POISON_MEMORY_REGION(static_cast<std::byte*>(p) + bytes, mapped - bytes);
    auto key = std::string(purpose);
    {
      std::lock_guard lock(*mutex_);
      (*used_)[key] += size;
    }
    return Buffer(p, bytes, std::shared_ptr<void>(p, [size, mapped, key, used = used_, mutex = mutex_](void* q) {
                    ASAN_UNPOISON_MEMORY_REGION(q, mapped);
                    munmap(q, mapped);
                    std::lock_guard lock(*mutex);
                    (*used)[key] -= size;
                  }));
  }

  // The system zeroes a page at its first write: one byte of each is enough.
  void commit(const Buffer& buffer, const std::function<void(std::int64_t)>& done) override {
    auto* const base = static_cast<volatile std::byte*>(buffer.data());
    const std::size_t pieces = (buffer.bytes() + kPieceBytes - 1) / kPieceBytes;
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
      for (std::size_t i = next++; i < pieces; i = next++) {
        const std::size_t begin = i * kPieceBytes, end = std::min(begin + kPieceBytes, buffer.bytes());
        for (std::size_t at = begin; at < end; at += kPageBytes) base[at] = std::byte{0};
        if (done) done(static_cast<std::int64_t>(end - begin));
      }
    };
    std::vector<std::jthread> others;
    for (std::size_t t = 1; t < std::min<std::size_t>(pieces, std::thread::hardware_concurrency()); ++t)
      others.emplace_back(work);
    work();
  }

  void copy_in(void* device, const void* host, std::size_t bytes) override { std::memcpy(device, host, bytes); }
  void copy_out(void* host, const void* device, std::size_t bytes) override { std::memcpy(host, device, bytes); }
  void copy(void* to, const void* from, std::size_t bytes) override { std::memcpy(to, from, bytes); }
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
