#include "backend/cpu/bandwidth.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "backend/cpu/isa.h"
#include "base/thread_pool.h"
#include "compute/device.h"

namespace hearth {

double measure_read_bandwidth(int threads) {
  const auto available =
      static_cast<std::size_t>(sysconf(_SC_AVPHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  const std::size_t chunk = std::size_t{1} << 20;
  const std::size_t chunks = std::clamp<std::size_t>(available / 4 / chunk, 64, 1024);
  const Kernels& kernels = choose_kernels({});
  ThreadPool pool(threads);
  const auto device = make_host_device();
  const Buffer buffer = device->alloc(chunks * chunk, "workspace");
  auto* data = static_cast<float*>(buffer.data());
  const std::size_t n = chunk / sizeof(float);
  pool.run(static_cast<std::int64_t>(chunks),
           [&](std::int64_t i, int) { std::fill_n(data + static_cast<std::size_t>(i) * n, n, 1.0f); });
  double best = 0;
  std::atomic<float> sink{0};
  for (int pass = 0; pass < 3; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    pool.run(static_cast<std::int64_t>(chunks), [&](std::int64_t i, int) {
      sink.store(kernels.read(data + static_cast<std::size_t>(i) * n, n), std::memory_order_relaxed);
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    best = std::max(best, static_cast<double>(chunks * chunk) / seconds);
  }
  return best;
}

}  // namespace hearth
