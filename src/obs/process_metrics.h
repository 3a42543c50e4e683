// process_metrics.h — process_* series, read from /proc when asked for.
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace hearth {

class ProcessMetrics {
 public:
  ProcessMetrics();
  std::vector<prometheus::MetricFamily> collect() const;

 private:
  double start_time_seconds_ = 0;
};

}  // namespace hearth
