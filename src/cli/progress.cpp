#include "cli/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/clock.h"
#include "base/log.h"
#include "engine/memory_plan.h"

namespace hearth {
namespace {
constexpr int kBarWidth = 30;
constexpr auto kTerminalInterval = std::chrono::milliseconds(100);
constexpr auto kLogInterval = std::chrono::milliseconds(900);
}  // namespace

Progress::Progress(std::string what, std::int64_t total_bytes, bool quiet)
    : what_(std::move(what)),
      total_(total_bytes),
      quiet_(quiet),
      terminal_(isatty(STDERR_FILENO) == 1),
      begin_(SteadyClock().now_seconds()) {
  if (!quiet_ && !terminal_) log_info("{}: {}", what_, format_bytes(total_));
  if (terminal_ || !quiet_) thread_ = std::thread([this] { loop(); });
}

Progress::~Progress() {
  {
    std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (terminal_ || !quiet_) print(true);
}

void Progress::stage(std::string what) {
  std::lock_guard lock(mutex_);
  what_ = std::move(what);
}

void Progress::loop() {
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, terminal_ ? kTerminalInterval : kLogInterval, [this] { return stop_; })) print(false);
}

// Under the lock, or after the thread has ended.
void Progress::print(bool last) {
  const std::int64_t done = std::min(done_.load(std::memory_order_relaxed), total_);
  const double seconds = SteadyClock().now_seconds() - begin_;
  const int percent = total_ > 0 ? static_cast<int>(100 * done / total_) : 100;
  if (!terminal_) {
    if (last)
      log_info("{}: done in {:.1f} s", what_, seconds);
    else
      log_info("{}: {} % ({} of {})", what_, percent, format_bytes(done), format_bytes(total_));
    return;
  }
  if (last) {
    std::fputs("\r\033[K", stderr);
    if (!quiet_) log_info("{}: {} in {:.1f} s", what_, format_bytes(done), seconds);
  } else {
    const int full = kBarWidth * percent / 100;
    const std::string bar =
        std::string(static_cast<std::size_t>(full), '#') + std::string(static_cast<std::size_t>(kBarWidth - full), '.');
    std::fputs(
        fmt::format("\r\033[K{} [{}] {:3} %  {} of {}", what_, bar, percent, format_bytes(done), format_bytes(total_))
            .c_str(),
        stderr);
  }
  std::fflush(stderr);
}

}  // namespace hearth
