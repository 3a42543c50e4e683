// flight_recorder.h — the last scheduling decisions, kept in memory and printed when something goes wrong.
//
//   flight_recorder().record("step", {{"tokens", 12}, {"running", 3}});
//
// Owns      a ring of kEvents events; installed as what a failed check prints (base/check.h).
// Threads   any. A record takes a lock and copies; the names must be literals (they are kept as pointers).
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <initializer_list>
#include <mutex>

namespace hearth {

struct FlightField {
  const char* name;
  std::int64_t value;
};

class FlightRecorder {
 public:
  static constexpr std::size_t kEvents = 256;
  static constexpr std::size_t kFields = 10;

  void record(const char* what, std::initializer_list<FlightField> fields);
  // The last max_events, oldest first, one line an event. Prints nothing when another thread holds the ring (a crash must not
  // wait for it).
  void dump(std::FILE* out, std::size_t max_events = kEvents);

 private:
  struct Event {
    const char* what = nullptr;
    std::size_t num_fields = 0;
    std::array<FlightField, kFields> fields{};
  };
  std::mutex mutex_;
  std::uint64_t count_ = 0;
  std::array<Event, kEvents> ring_{};
};

FlightRecorder& flight_recorder();

}  // namespace hearth
