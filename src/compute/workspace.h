// workspace.h — memory of a backend for what one operation needs beside its inputs and outputs.
//
//   struct Sums { double* sum; Sums(Arena& a, std::int64_t n) : sum(a.take<double>(n)) {} };
//   Sums s = workspace.lay_out<Sums>(n);            // valid until the next lay_out
//   Workspace::bytes_of<Sums>(largest_n)            // what reserve() must be given for it
//
// A layout says once what is taken, in which order; its size is counted by the same constructor on an arena without memory.
//
// Before reserve()   (tests of single operations) it grows to what a call needs.
// After              it does not: asking for more is a mistake of the plan and ends the program, as no step may allocate.
// Threads            one caller at a time.
#pragma once

#include "compute/device.h"
#include "tensor/arena.h"

namespace hearth {

class Workspace {
 public:
  explicit Workspace(Device& device) : device_(device) {}

  template <class Layout, class... Args>
  static std::size_t bytes_of(const Args&... args) {
    Arena counting;
    Layout(counting, args...);
    return counting.peak_bytes();
  }

  template <class Layout, class... Args>
  Layout lay_out(const Args&... args) {
    const std::size_t bytes = bytes_of<Layout>(args...);
    if (bytes > buffer_.bytes()) {
      if (reserved_) HEARTH_CHECK_LE(bytes, buffer_.bytes());
      take(bytes);
    }
    Arena arena(buffer_.data(), buffer_.bytes());
    return Layout(arena, args...);
  }

  // These bytes (or those of an earlier, larger reserve) from now on, every page of them there.
  void reserve(std::size_t bytes) {
    if (bytes > buffer_.bytes()) take(bytes);
    device_.commit(buffer_);
    reserved_ = true;
  }

 private:
  void take(std::size_t bytes) {
    buffer_ = {};
    buffer_ = device_.alloc(bytes, "workspace");
  }

  Device& device_;
  Buffer buffer_;
  bool reserved_ = false;
};

}  // namespace hearth
