// device.h — memory of one device and copies to and from it.
//
// Owns      every Buffer it hands out, counted by purpose; the start-up ledger is the sum of these.
// Threads   alloc before "ready" only; copies from the thread that runs steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace hearth {

class Buffer {  // move-only; frees on destruction
 public:
  Buffer() = default;
  Buffer(void* data, std::size_t bytes, std::shared_ptr<void> keep)
      : data_(data), bytes_(bytes), keep_(std::move(keep)) {}
  Buffer(Buffer&&) noexcept = default;
  Buffer& operator=(Buffer&&) noexcept = default;
  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::shared_ptr<void> keep_;
};

class Device {
 public:
  virtual ~Device() = default;
  virtual std::string_view name() const = 0;  // "cpu"
  // 256-byte aligned, zeroed. Throws StartupError with the numbers when there is not enough. purpose: "weights",
  // "kv_cache", "state", "activations", "workspace".
  virtual Buffer alloc(std::size_t bytes, std::string_view purpose) = 0;
  // Puts memory behind every page of a buffer just handed out, which alloc may leave to the first use; several threads share
  // the work. done is told of bytes as they come, from any thread.
  virtual void commit(const Buffer& buffer, const std::function<void(std::int64_t)>& done = {}) {
    if (done) done(static_cast<std::int64_t>(buffer.bytes()));
  }
  virtual void copy_in(void* device, const void* host, std::size_t bytes) = 0;
  virtual void copy_out(void* host, const void* device, std::size_t bytes) = 0;
  virtual void copy(void* to, const void* from,
                    std::size_t bytes) = 0;  // within the device, in the order of the operations
  virtual void zero(void* device, std::size_t bytes) = 0;
  virtual std::map<std::string, std::size_t> used_bytes() const = 0;  // by purpose
  // Of a device with memory of its own; others share the machine's.
  struct Memory {
    std::size_t total = 0, available = 0;
  };
  virtual std::optional<Memory> own_memory() const { return std::nullopt; }
};

// Plain memory, shared by `ref` and `cpu`.
std::unique_ptr<Device> make_host_device();

}  // namespace hearth
