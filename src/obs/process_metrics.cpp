#include "obs/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

namespace hearth {
namespace {

prometheus::MetricFamily family(const char* name, const char* help, prometheus::MetricType type, double value) {
  prometheus::ClientMetric metric;
  if (type == prometheus::MetricType::Counter)
    metric.counter.value = value;
  else
    metric.gauge.value = value;
  return {name, help, type, {metric}};
}

// Pages of /proc/self/statm: [size, resident, …].
void read_memory(double& virtual_bytes, double& resident_bytes) {
  long size = 0, resident = 0;
  if (std::FILE* file = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(file, "%ld %ld", &size, &resident) != 2) size = resident = 0;
    std::fclose(file);
  }
  const auto page = static_cast<double>(sysconf(_SC_PAGESIZE));
  virtual_bytes = static_cast<double>(size) * page;
  resident_bytes = static_cast<double>(resident) * page;
}

double open_files() {
  int count = 0;
  if (DIR* folder = opendir("/proc/self/fd")) {
    while (readdir(folder)) ++count;
    closedir(folder);
  }
  return count - 3;  // ".", ".." and the folder itself
}

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

}  // namespace

ProcessMetrics::ProcessMetrics()
    : start_time_seconds_(std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count()) {}

std::vector<prometheus::MetricFamily> ProcessMetrics::collect() const {
  using prometheus::MetricType;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  double virtual_bytes = 0, resident_bytes = 0;
  read_memory(virtual_bytes, resident_bytes);
  return {
      family("process_cpu_seconds_total", "User and system CPU time.", MetricType::Counter,
             seconds(usage.ru_utime) + seconds(usage.ru_stime)),
      family("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge, resident_bytes),
      family("process_virtual_memory_bytes", "Virtual memory.", MetricType::Gauge, virtual_bytes),
      family("process_open_fds", "Open file descriptors.", MetricType::Gauge, open_files()),
      family("process_max_fds", "Most file descriptors allowed.", MetricType::Gauge,
             static_cast<double>(files.rlim_cur)),
      family("process_start_time_seconds", "Start time, unix seconds.", MetricType::Gauge, start_time_seconds_),
  };
}

}  // namespace hearth
