// clock.h — time as the engine sees it: real, or driven by a test.
#pragma once

#include <chrono>

namespace hearth {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual double now_seconds() const = 0;  // monotonic; the origin means nothing
};

class SteadyClock final : public Clock {
 public:
  double now_seconds() const override {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
};

class FakeClock final : public Clock {
 public:
  double now_seconds() const override { return now_; }
  void advance(double seconds) { now_ += seconds; }

 private:
  double now_ = 0;
};

}  // namespace hearth
