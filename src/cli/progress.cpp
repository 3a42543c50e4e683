#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>

#include "base/clock.h"
#include "base/log.h"
#include "engine/memory_plan.h"

namespace hearth {
namespace {
constexpr int kBarWidth = 30;
constexpr auto kInterval = std::chrono::milliseconds(100);
// A log gets a line for each fifth of a stage, but none in quick succession, and one at least every half minute.
constexpr std::int64_t kLogPercent = 20;
constexpr double kLogMinSeconds = 2, kLogMaxSeconds = 30;
}  // namespace

Progress::Progress(bool quiet) : quiet_(quiet), terminal_(isatty(STDERR_FILENO) == 1) {
  if (terminal_ || !quiet_) thread_ = std::thread([this] { loop(); });
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (terminal_ && !what_.empty()) std::fputs("\r\033[K", stderr);
}

void Progress::stage(std::string what, std::int64_t total_bytes) {
  std::lock_guard lock(mutex_);
  close_stage();
  what_ = std::move(what);
  total_ = total_bytes;
  done_ = 0;
  began_ = last_line_ = SteadyClock().now_seconds();
  next_percent_ = kLogPercent;
  if (!quiet_ && !terminal_) log_info("{}: {}", what_, format_bytes(total_));
}

void Progress::add(std::int64_t bytes) {
  std::lock_guard lock(mutex_);
  done_ = std::min(done_ + bytes, total_);
}

void Progress::finish() {
  std::lock_guard lock(mutex_);
  close_stage();
}

void Progress::close_stage() {
  if (what_.empty()) return;
  if (terminal_) std::fputs("\r\033[K", stderr);
  if (!quiet_) log_info("{}: {} in {:.1f} s", what_, format_bytes(total_), SteadyClock().now_seconds() - began_);
  what_.clear();
}

void Progress::loop() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, kInterval, [this] { return stop_; }))
    if (!what_.empty()) draw();
}

void Progress::draw() {
  const std::int64_t percent = total_ > 0 ? 100 * done_ / total_ : 100;
  if (terminal_) {
    const auto full = static_cast<std::size_t>(kBarWidth * percent / 100);
    const std::string bar = std::string(full, '#') + std::string(kBarWidth - full, '.');
    std::fputs(
        fmt::format("\r\033[K{} [{}] {:3} %  {} of {}", what_, bar, percent, format_bytes(done_), format_bytes(total_))
            .c_str(),
        stderr);
    std::fflush(stderr);
    return;
  }
  const double now = SteadyClock().now_seconds(), since = now - last_line_;
  if (since < kLogMinSeconds || (percent < next_percent_ && since < kLogMaxSeconds)) return;
  log_info("{}: {} % ({} of {})", what_, percent, format_bytes(done_), format_bytes(total_));
  last_line_ = now;
  next_percent_ = percent / kLogPercent * kLogPercent + kLogPercent;
}

}  // namespace hearth
