#include "obs/flight_recorder.h"

#include <algorithm>
#include <cinttypes>

#include "base/check.h"

namespace hearth {

void FlightRecorder::record(const char* what, std::initializer_list<FlightField> fields) {
  std::lock_guard lock(mutex_);
  Event& event = ring_[count_++ % kEvents];
  event.what = what;
  event.num_fields = std::min(fields.size(), kFields);
  std::copy_n(fields.begin(), event.num_fields, event.fields.begin());
}

void FlightRecorder::dump(std::FILE* out, std::size_t max_events) {
  std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  const std::uint64_t kept = std::min<std::uint64_t>(count_, std::min(max_events, kEvents));
  std::fprintf(out, "hearth: the last %" PRIu64 " of %" PRIu64 " recorded events\n", kept, count_);
  for (std::uint64_t i = count_ - kept; i < count_; ++i) {
    const Event& event = ring_[i % kEvents];
    std::fprintf(out, "  #%" PRIu64 " %s", i, event.what);
    for (std::size_t f = 0; f < event.num_fields; ++f)
      std::fprintf(out, " %s=%" PRId64, event.fields[f].name, event.fields[f].value);
    std::fputc('\n', out);
  }
}

FlightRecorder& flight_recorder() {
  static FlightRecorder& recorder = []() -> FlightRecorder& {
    static FlightRecorder made;
    on_check_failure([] { flight_recorder().dump(stderr); });
    return made;
  }();
  return recorder;
}

}  // namespace hearth
