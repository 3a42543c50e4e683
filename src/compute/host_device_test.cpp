#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <algorithm>

#include "compute/device.h"

namespace hearth {
namespace {

TEST(HostDevice, BuffersAreAlignedZeroedAndCountedByPurpose) {
  const auto device = make_host_device();
  {
    const Buffer a = device->alloc(100, "state"), b = device->alloc(5000, "state"), c = device->alloc(1, "workspace");
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(a.data()) % 256, 0u);
    EXPECT_EQ(b.bytes(), 5000u);
    const auto* bytes = static_cast<const char*>(b.data());
    EXPECT_EQ(std::count(bytes, bytes + b.bytes(), 0), 5000);
    EXPECT_EQ(device->used_bytes(), (std::map<std::string, std::size_t>{{"state", 3 * 4096}, {"workspace", 4096}}));
  }
  EXPECT_EQ(device->used_bytes()["state"], 0u);
}

// The op cases keep each operand in a buffer of its own: a kernel that reads past one is found by this.
TEST(HostDevice, AReadPastTheEndOfABufferIsReported) {
#if __has_feature(address_sanitizer) || defined(__SANITIZE_ADDRESS__)
  const auto device = make_host_device();
  for (const std::size_t size : {100, 4096}) {
    const Buffer buffer = device->alloc(size, "state");
    const auto* const bytes = static_cast<const volatile char*>(buffer.data());
    EXPECT_EQ(bytes[size - 1], 0);
    EXPECT_DEATH(static_cast<void>(bytes[size]), "use-after-poison");
  }
#else
  GTEST_SKIP() << "needs AddressSanitizer (make asan)";
#endif
}

}  // namespace
}  // namespace hearth
