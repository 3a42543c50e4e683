// Matrices that are read by rows while they are packed: the same panels as from memory, and errors that reach the caller.
#include "backend/cpu/pack.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <mutex>

#include "base/rng.h"
#include "base/status.h"

namespace hearth {
namespace {

struct Part {
  std::vector<std::byte> bytes;
  std::vector<float> scales;
  StoredMatrix in_memory, by_rows;
  std::int64_t most_bytes = 0;  // of one read
};

// Random bytes without the NaN of FP8.
std::vector<std::unique_ptr<Part>> random_parts(Format format, std::span<const std::int64_t> rows, std::int64_t cols,
                                                std::mutex& mutex) {
  Rng rng(7);
  std::vector<std::unique_ptr<Part>> out;
  const std::int64_t row_bytes = format_bytes(format, cols);
  for (const std::int64_t n : rows) {
    auto part = std::make_unique<Part>();
    for (std::int64_t i = 0; i < n * row_bytes; ++i)
      part->bytes.push_back(static_cast<std::byte>(rng.next()) & std::byte{0x3f});
    for (std::int64_t i = 0; i < (n + 127) / 128 * ((cols + 127) / 128); ++i)
      part->scales.push_back(static_cast<float>(i + 1));
    StoredMatrix m{format, n, cols, part->bytes.data(), format == Format::f8_e4m3 ? part->scales.data() : nullptr};
    part->in_memory = m;
    m.data = nullptr;
    m.read = [p = part.get(), row_bytes, &mutex](std::int64_t begin, std::span<std::byte> dst) {
      std::memcpy(dst.data(), p->bytes.data() + begin * row_bytes, dst.size());
      std::lock_guard lock(mutex);
      p->most_bytes = std::max(p->most_bytes, static_cast<std::int64_t>(dst.size()));
    };
    part->by_rows = m;
    out.push_back(std::move(part));
  }
  return out;
}

TEST(Pack, MatricesReadByRowsAreThoseInMemory) {
  const auto device = make_host_device();
  ThreadPool pool(3);
  std::mutex mutex;
  for (const Format format : {Format::f32, Format::f16, Format::bf16, Format::f8_e4m3, Format::q8_0, Format::q4_0,
                              Format::q4_1, Format::q5_0, Format::q5_1, Format::q4_k, Format::q5_k, Format::q6_k,
                              Format::q3_k, Format::q2_k, Format::iq4_nl, Format::iq4_xs, Format::mxfp4}) {
    const std::int64_t rows[] = {130, 7, 3000};
    const auto parts = random_parts(format, rows, 512, mutex);
    std::vector<StoredMatrix> memory, reads;
    for (const auto& p : parts) {
      memory.push_back(p->in_memory);
      reads.push_back(p->by_rows);
    }
    const auto a = pack(memory, *device, pool), b = pack(reads, *device, pool);
    ASSERT_EQ(a->bytes, b->bytes);
    EXPECT_EQ(std::memcmp(a->panels, b->panels, a->bytes), 0) << format_info(format).name;
    EXPECT_LE(parts[2]->most_bytes, 256 << 10) << "no part is held whole";
  }
}

TEST(Pack, AReadThatFailsEndsTheLoad) {
  const auto device = make_host_device();
  ThreadPool pool(3);
  StoredMatrix m{Format::f32, 4096, 64, nullptr, nullptr};
  std::atomic<int> reads{0};
  m.read = [&](std::int64_t, std::span<std::byte>) {
    if (++reads == 3) throw StartupError("the disk is gone", "file", "check the disk");
  };
  try {
    pack({&m, 1}, *device, pool);
    FAIL() << "packed";
  } catch (const StartupError& e) {
    EXPECT_STREQ(e.what(), "the disk is gone");
  }
}

}  // namespace
}  // namespace hearth
