// bandwidth.h — how fast this machine reads memory: the ceiling of decode on a CPU.
#pragma once

namespace hearth {

// Bytes a second that `threads` threads read together from 1 GiB (less where memory is short), best of three passes.
double measure_read_bandwidth(int threads);

}  // namespace hearth
